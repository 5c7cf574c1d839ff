//! Deletes messages: one that must exist, or any number that need not (`rest.md` §6).

use super::{Access, Context, Family, Operation, Output};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, as_texts, message},
};
use crate::id::EdgeMessageId;
use crate::storage::IfGone;

pub(super) enum DeleteMessages {
    One(EdgeMessageId),
    Many(Vec<EdgeMessageId>),
}

impl Operation for DeleteMessages {
    type Payload = message::Delete;
    type Answer = message::Deleted;

    const REQUEST: EventType = EventType::MessageDeleteRequest;
    const RESPONSE: EventType = EventType::MessageDeleteResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: message::Delete = payload::decode(payload)?;
        match (request.message_id, request.message_ids) {
            (Some(id), None) => message::message_id(&id).map(Self::One),
            (None, Some(ids)) => ids
                .iter()
                .enumerate()
                .map(|(index, id)| {
                    id.parse().map_err(|error: crate::id::NotAUuid| {
                        Failure::new(Code::BadRequest, error.to_string()).of_item(index)
                    })
                })
                .collect::<Result<_, _>>()
                .map(Self::Many),
            (Some(_), Some(_)) | (None, None) => Err(Failure::malformed(
                "invalid payload: set either messageId or messageIds",
            )),
        }
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut session = cx.session().await?;
        // A transaction that is joined does more than this: it is repeated as a whole.
        let if_gone = if session.has_joined() {
            IfGone::Conflict
        } else {
            IfGone::Refuse
        };
        let unit = session.unit()?;
        let ids = match self {
            Self::One(id) => {
                if !unit.take_message(id, if_gone).await? {
                    return Err(message::not_found(&id.to_string()));
                }
                vec![id]
            }
            Self::Many(ids) => {
                unit.drop_messages(&ids)?;
                ids
            }
        };
        let deleted = message::Deleted {
            entity_ids: as_texts(ids),
        };
        cx.finish(session, deleted, Vec::new()).await
    }
}
