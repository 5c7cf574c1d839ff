//! Cancels a snapshot search: registered, not made yet.

use super::{Access, Answer, Context, Family, Operation};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, search},
};

pub(super) struct CancelSearch;

impl Operation for CancelSearch {
    type Payload = search::Snapshot;

    const REQUEST: EventType = EventType::SnapshotCancelRequest;
    const RESPONSE: EventType = EventType::EntitySnapshotSearchResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Write;

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
