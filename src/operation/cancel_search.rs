//! Cancels a background search (`search.md` §6).

use super::{Access, Context, Family, Operation, Output, search_status::status};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        search::{self, snapshot_id},
    },
};
use crate::id::JobId;

pub(super) struct CancelSearch(JobId);

impl Operation for CancelSearch {
    type Payload = search::Snapshot;
    type Answer = search::SnapshotAnswer;

    const REQUEST: EventType = EventType::SnapshotCancelRequest;
    const RESPONSE: EventType = EventType::EntitySnapshotSearchResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Snapshot = payload::decode(payload)?;
        snapshot_id(&request.snapshot_id).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Self(id) = self;
        let (tenant, jobs) = (&cx.caller().tenant, cx.jobs());
        let cancelled = jobs.to_cancel(tenant, id).await?;
        let answer = status(id, &cancelled);
        let _critical = cx.critical();
        jobs.cancel(tenant, id, &cancelled, cx.outcome(&answer, &[]))
            .await?;
        Ok(Output::one(answer))
    }
}
