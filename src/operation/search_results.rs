//! A page of what a snapshot search found: registered, not made yet.

use super::{Access, Answer, Answers, Context, Family, Operation};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, search},
};

pub(super) struct SearchResults;

impl Operation for SearchResults {
    type Payload = search::Snapshot;

    const REQUEST: EventType = EventType::SnapshotGetRequest;
    const RESPONSE: EventType = EventType::EntityResponse;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Many;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let _: search::Snapshot = payload::decode(payload)?;
        Ok(Self)
    }

    async fn run(self, _cx: Context) -> Result<Answer, Failure> {
        Err(Failure::new(
            Code::NotImplemented,
            "snapshot searches are not supported yet; use EntitySearchRequest",
        ))
    }
}
