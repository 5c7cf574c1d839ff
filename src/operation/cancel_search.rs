//! Cancels a background search (`search.md` §6).

use super::{Access, Answer, Context, Family, Operation, search_status::told};
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

    const REQUEST: EventType = EventType::SnapshotCancelRequest;
    const RESPONSE: EventType = EventType::EntitySnapshotSearchResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Snapshot = payload::decode(payload)?;
        snapshot_id(&request.snapshot_id).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let Self(id) = self;
        let (tenant, jobs) = (&cx.caller().tenant, cx.jobs());
        let cancelled = jobs.to_cancel(tenant, id).await?;
        let json = told(&cx, id, &cancelled);
        jobs.cancel(tenant, id, &cancelled, cx.outcome(&json))
            .await?;
        cx.answer(Self::RESPONSE, json)
    }
}
