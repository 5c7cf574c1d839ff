//! Topics as a database has them: named lists of events.

use std::sync::Arc;

use super::TenantRow;
use crate::clock::Timestamp;

/// The name of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicKey {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl TopicKey {
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// The key of a row of `topic`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::storage) struct TopicRow(pub(in crate::storage) i64);

/// A topic, and how far it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) struct TopicHead {
    pub(in crate::storage) row: TopicRow,
    pub(in crate::storage) last: i64,
}

/// A topic, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTopic {
    pub name: Arc<str>,
    /// The sequence of the oldest event that is kept; that of the next one if none is.
    pub first: i64,
    /// The sequence of the newest event.
    pub last: i64,
}

/// An event of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicEvent {
    /// 1, 2, 3… in its topic.
    pub sequence: i64,
    pub at: Timestamp,
    /// JSON.
    pub payload: Arc<str>,
    pub kind: Option<Arc<str>>,
    pub key: Option<Arc<str>>,
    pub id: Option<Arc<str>>,
}

/// Some of a tenant's topics: by name, those after one.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct TopicPage<'a> {
    pub(in crate::storage) tenant: TenantRow,
    pub(in crate::storage) namespace: &'a str,
    pub(in crate::storage) after: Option<&'a str>,
    pub(in crate::storage) limit: i64,
}
