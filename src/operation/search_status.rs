//! Returns the status of a background search (`search.md` §6).

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self, AsText,
        search::{self, SnapshotProgress, SnapshotStatus, snapshot_id},
    },
};
use crate::id::JobId;
use crate::search::expires;
use crate::storage::Job;

pub(super) struct SearchStatus(JobId);

impl Operation for SearchStatus {
    type Payload = search::Snapshot;
    type Answer = search::SnapshotAnswer;

    const REQUEST: EventType = EventType::SnapshotGetStatusRequest;
    const RESPONSE: EventType = EventType::EntitySnapshotSearchResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Snapshot = payload::decode(payload)?;
        snapshot_id(&request.snapshot_id).map(Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Self(id) = self;
        let job = cx.jobs().get(&cx.caller().tenant, id).await?;
        Ok(Output::one(status(id, &job)))
    }
}

/// The status of a job.
pub(super) fn status(id: JobId, job: &Job) -> search::SnapshotAnswer {
    search::SnapshotAnswer {
        status: SnapshotStatus {
            snapshot_id: AsText(id),
            status: job.state.as_str().into(),
            known: Some(SnapshotProgress {
                expiration_date: AsText(expires(job)),
                entities_count: job.count,
                create_time: AsText(job.created),
                calculation_time_millis: u64::try_from(job.took.as_millis()).unwrap_or(u64::MAX),
            }),
            finish_time: job.finished.map(|finished| AsText(finished.at)),
        },
    }
}
