//! Reads a message (`rest.md` §6).

use super::{Access, Answer, Context, Family, Operation};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, message},
};
use crate::id::EdgeMessageId;

pub(super) struct GetMessage(EdgeMessageId);

impl Operation for GetMessage {
    type Payload = message::Get;

    const REQUEST: EventType = EventType::MessageGetRequest;
    const RESPONSE: EventType = EventType::MessageGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: message::Get = payload::decode(payload)?;
        message::message_id(&request.message_id).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let mut session = cx.session().await?;
        let found = session.unit()?.message(self.0).await?;
        session.finish(cx.cancel()).await?;
        let found = found.ok_or_else(|| message::not_found(&self.0.to_string()))?;
        cx.answer(
            Self::RESPONSE,
            message::message(
                cx.request(),
                found.header.as_str(),
                found.metadata.as_str(),
                found.content.as_str(),
            ),
        )
    }
}
