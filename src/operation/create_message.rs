//! Stores a message (`rest.md` §6).

use serde_json::value::RawValue;

use super::{Access, Context, Family, Operation, Output};
use crate::entity::{Document, Json};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self, AsText, as_texts,
        message::{self, StoredHeader},
    },
};
use crate::storage::Message;

pub(super) struct CreateMessage(Message);

impl Operation for CreateMessage {
    type Payload = message::Create<'static>;
    type Answer = message::Created;

    const REQUEST: EventType = EventType::MessageCreateRequest;
    const RESPONSE: EventType = EventType::MessageCreateResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: message::Create<'_> = payload::decode(payload)?;
        let content = json("payload", request.payload)?;
        let metadata = match request.meta_data {
            None => Json::trusted("{}"),
            Some(metadata) => json("metaData", metadata)?,
        };
        if !metadata.as_str().starts_with('{') {
            return Err(Failure::new(Code::BadRequest, "metaData is not an object"));
        }
        let header = StoredHeader::new(request.header, content.as_str().len());
        Ok(Self(Message {
            header: Json::trusted(payload::json(&header)),
            metadata,
            content,
        }))
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut session = cx.session().await?;
        let id = session.unit()?.put_message(self.0)?;
        let transaction = session.entry();
        let created = message::Created {
            entity_ids: as_texts([id]),
            transaction_id: AsText(transaction),
        };
        cx.finish(session, created, Vec::new()).await
    }
}

/// A part of a message, in the form in which it is kept.
fn json(part: &str, raw: &RawValue) -> Result<Json, Failure> {
    Document::from_raw(raw)
        .map(|document| document.json().clone())
        .map_err(|error| Failure::malformed(format!("invalid {part}: {error}")))
}
