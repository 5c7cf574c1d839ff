//! Returns the status of a background search (`search.md` §6).

use super::{Access, Answer, Context, Family, Operation};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        search::{self, SnapshotStatus, snapshot_id},
    },
};
use crate::id::JobId;
use crate::search::expires;
use crate::storage::Job;

pub(super) struct SearchStatus(JobId);

impl Operation for SearchStatus {
    type Payload = search::Snapshot;

    const REQUEST: EventType = EventType::SnapshotGetStatusRequest;
    const RESPONSE: EventType = EventType::EntitySnapshotSearchResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Snapshot = payload::decode(payload)?;
        snapshot_id(&request.snapshot_id).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let Self(id) = self;
        let job = cx.jobs().get(&cx.caller().tenant, id).await?;
        cx.answer(Self::RESPONSE, told(&cx, id, &job))
    }
}

/// The answer that tells how a job stands.
pub(super) fn told(cx: &Context, id: JobId, job: &Job) -> String {
    let status = SnapshotStatus {
        id,
        status: job.state.as_str(),
        created: job.created,
        finished: job.finished.map(|finished| finished.at),
        expires: expires(job),
        count: job.count,
        took: job.took,
    };
    search::snapshot_status(cx.request(), &status)
}
