//! Topics: named, kept, ordered lists of events (`runs.md` §5).

mod get;
mod list;
mod publish;

pub(super) use get::GetTopic;
pub(super) use list::ListTopics;
pub(super) use publish::PublishToTopic;
