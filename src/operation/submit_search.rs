//! Starts a snapshot search: registered, not made yet.

use super::{Access, Answer, Context, Family, Operation};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, search},
};

pub(super) struct SubmitSearch;

impl Operation for SubmitSearch {
    type Payload = search::SnapshotSearch;

    const REQUEST: EventType = EventType::EntitySnapshotSearchRequest;
    const RESPONSE: EventType = EventType::EntitySnapshotSearchResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let _: search::SnapshotSearch = payload::decode(payload)?;
        Ok(Self)
    }

    async fn run(self, _cx: Context) -> Result<Answer, Failure> {
        Err(Failure::new(
            Code::NotImplemented,
            "snapshot searches are not supported yet; use EntitySearchRequest",
        ))
    }
}
