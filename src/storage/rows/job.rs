//! Rows of searches that run on their own.

use std::{sync::Arc, time::Duration};

use super::columns::from_row;
use crate::clock::Timestamp;
use crate::entity::Sequence;
use crate::id::ModelKey;
use crate::model::{Lock, Model, Schema, UniqueKeys};
use crate::storage::port::{
    Definitions, Error, Finished, Job, JobRow, JobState, ModelRow, StoredJob, TenantRow,
};
use crate::workflow::WorkflowSet;

#[derive(Debug)]
pub(in crate::storage) struct JobData {
    j: i64,
    seq: i64,
    state: i64,
    created: i64,
    finished: Option<i64>,
    expires: Option<i64>,
    count: i64,
    took: i64,
}

from_row! { JobData { j, seq, state, created, finished, expires, count, took } }

impl TryFrom<JobData> for Job {
    type Error = Error;

    fn try_from(row: JobData) -> Result<Self, Error> {
        let inconsistent = |column| Error::Inconsistent {
            table: "search_job",
            column,
            row: row.j,
        };
        let finished = row.finished.zip(row.expires).map(|(at, expires)| Finished {
            at: Timestamp::from_micros(at),
            expires: Timestamp::from_micros(expires),
        });
        Ok(Self {
            row: JobRow(row.j),
            state: JobState::from_code(row.state).ok_or_else(|| inconsistent("state"))?,
            created: Timestamp::from_micros(row.created),
            finished,
            count: row.count,
            took: Duration::from_millis(u64::try_from(row.took).map_err(|_| inconsistent("took"))?),
            at: Sequence(row.seq),
        })
    }
}

#[derive(Debug)]
pub(in crate::storage) struct PlanData {
    j: i64,
    t: i64,
    m: i64,
    seq: i64,
    query: String,
    schema: String,
    name: String,
    version: i32,
    begun: bool,
}

from_row! { PlanData { j, t, m, seq, query, schema, name, version, begun } }

impl TryFrom<PlanData> for StoredJob {
    type Error = Error;

    fn try_from(row: PlanData) -> Result<Self, Error> {
        let schema = Schema::decode(&row.schema).map_err(|_| Error::Inconsistent {
            table: "search_job",
            column: "schema",
            row: row.j,
        })?;
        // Of the model only what says what a condition means.
        let model = Model {
            key: ModelKey::new(&row.name, row.version),
            lock: Lock::Locked,
            change_level: None,
            schema: Arc::new(schema),
            updated: Timestamp::from_micros(0),
            unique_keys: UniqueKeys::default(),
        };
        Ok(Self {
            definitions: Definitions {
                tenant: TenantRow(row.t),
                row: ModelRow(row.m),
                revision: 0,
                deltas: 0,
                workflow_revision: 0,
                model,
                workflows: WorkflowSet::default(),
            },
            at: Sequence(row.seq),
            query: row.query,
            begun: row.begun,
        })
    }
}
