//! What the simulated database has not: indexes, jobs and counted bytes. A search reads everything.
#![cfg(test)]

use std::collections::HashMap;

use super::State;
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::{EntityId, JobId, RunId, Tenant};
use crate::storage::port::{
    EntityRow, Index, Indexable, Job, JobRow, Leaving, ModelRow, OldRun, OldRunsWanted, Ordered,
    Probe, StoredJob, Stretch, TenantRow, Version,
};

macro_rules! nothing {
    ($($name:ident($($argument:ty),*) -> $answer:ty;)*) => {
        impl State {$(
            pub(in crate::storage) fn $name(&self, $(_: $argument),*) -> $answer {
                <$answer>::default()
            }
        )*}
    };
}

nothing! {
    usage(i64, i64) -> Vec<(Tenant, i64)>;
    usage_next(i64) -> Option<i64>;
    usage_now() -> (i64, Vec<(Tenant, i64)>);
    topic_old(Timestamp, i64) -> Vec<(Tenant, i64, i64)>;
    runs_old(OldRunsWanted, i64) -> Vec<OldRun>;
    old_run_events(&[RunId], i64) -> Vec<(Position, RunId, i64)>;
    indexes() -> Vec<Index>;
    to_index(ModelRow, Option<EntityId>, i64) -> Vec<Indexable>;
    ends(ModelRow) -> Option<(EntityId, EntityId)>;
    leaving(&[EntityRow]) -> Vec<Leaving>;
    replaced(&[Position]) -> HashMap<Position, Position>;
    models_of(&[EntityRow]) -> Vec<ModelRow>;
    count_found(ModelRow, &[&[Probe]], i64) -> Vec<i64>;
    look_up(TenantRow, ModelRow, &[Probe], i64) -> Option<Vec<Version>>;
    in_order(TenantRow, Stretch) -> Ordered;
    found(ModelRow, &[Probe], i64) -> Vec<(EntityId, Position)>;
    found_as_of(ModelRow, &[Probe], Sequence, i64) -> Vec<(EntityId, Position)>;
    job(TenantRow, JobId) -> Option<Job>;
    pending_jobs(TenantRow, i64) -> i64;
    jobs_to_run(JobRow, i64) -> Vec<(JobRow, TenantRow)>;
    job_plan(JobRow) -> Option<StoredJob>;
    expired_jobs(Timestamp, i64) -> Vec<JobRow>;
    hits(JobRow, i64, i64) -> Vec<Position>;
}
