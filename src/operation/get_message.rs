//! Reads a message (`rest.md` §6).

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, RawJson, message},
};
use crate::id::EdgeMessageId;

pub(super) struct GetMessage(EdgeMessageId);

impl Operation for GetMessage {
    type Payload = message::Get;
    type Answer = message::Message;

    const REQUEST: EventType = EventType::MessageGetRequest;
    const RESPONSE: EventType = EventType::MessageGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: message::Get = payload::decode(payload)?;
        message::message_id(&request.message_id).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut session = cx.session().await?;
        let found = session.unit()?.message(self.0).await?;
        session.finish(cx.cancel()).await?;
        let found = found.ok_or_else(|| message::not_found(&self.0.to_string()))?;
        Ok(Output::one(message::Message {
            header: RawJson(found.header),
            meta_data: RawJson(found.metadata),
            content: RawJson(found.content),
        }))
    }
}
