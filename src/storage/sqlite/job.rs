//! Searches that run on their own, and what they find.

use std::{sync::Arc, time::Duration};

use sqlx::FromRow;
use sqlx_sqlite::SqliteConnection;

use super::{Sqlite, read::json_list};
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::{JobId, ModelKey};
use crate::model::{Lock, Model, Schema, UniqueKeys};
use crate::storage::port::{
    Definitions, Error, Finished, Job, JobChore, JobRow, JobState, ModelRow, StoredJob, TenantRow,
};
use crate::workflow::WorkflowSet;

const JOB_ADD_HITS: &str = include_str!("sql/job_add_hits.sql");
const JOB_CANCEL: &str = include_str!("sql/job_cancel.sql");
const JOB_DROP: &str = include_str!("sql/job_drop.sql");
const JOB_DROP_HITS: &str = include_str!("sql/job_drop_hits.sql");
const JOB_EXPIRED: &str = include_str!("sql/job_expired.sql");
const JOB_FINISH: &str = include_str!("sql/job_finish.sql");
const JOB_GET: &str = include_str!("sql/job_get.sql");
const JOB_HITS: &str = include_str!("sql/job_hits.sql");
const JOB_PLAN: &str = include_str!("sql/job_plan.sql");
const JOB_PUT: &str = include_str!("sql/job_put.sql");
const JOB_WAITING: &str = include_str!("sql/job_waiting.sql");
const OUTCOME_PUT: &str = include_str!("sql/outcome_put.sql");

/// How many hits are removed in one go.
const REMOVED_AT_ONCE: i64 = 4_000;

impl JobChore {
    /// Does it; how many rows that took.
    pub(super) async fn write(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<u64, sqlx::Error> {
        let key = self.outcome().map(|outcome| &*outcome.key);
        let query = match self {
            Self::Put {
                id,
                tenant,
                model,
                at,
                query,
                schema,
                created,
                outcome: _,
            } => sqlx::query(JOB_PUT)
                .bind(id.uuid())
                .bind(tenant.0)
                .bind(model.0)
                .bind(at.0)
                .bind(&**query)
                .bind(schema)
                .bind(created.micros())
                .bind(key),
            Self::Cancel { job, finished, .. } => sqlx::query(JOB_CANCEL)
                .bind(job.0)
                .bind(finished.at.micros())
                .bind(finished.expires.micros())
                .bind(key),
            Self::AddHits {
                job,
                first,
                positions,
            } => {
                let added = add_hits(*job, *first, positions);
                return Ok(added.execute(connection).await?.rows_affected());
            }
            Self::Finish {
                job,
                end,
                first,
                positions,
            } => {
                if !positions.is_empty() {
                    let added = add_hits(*job, *first, positions);
                    added.execute(&mut *connection).await?;
                }
                sqlx::query(JOB_FINISH)
                    .bind(job.0)
                    .bind(end.state.code())
                    .bind(end.finished.at.micros())
                    .bind(end.finished.expires.micros())
                    .bind(end.count)
                    .bind(i64::try_from(end.took.as_millis()).unwrap_or(i64::MAX))
            }
            Self::DropHits(job) => sqlx::query(JOB_DROP_HITS).bind(job.0).bind(REMOVED_AT_ONCE),
            Self::Drop(job) => sqlx::query(JOB_DROP).bind(job.0),
        };
        let rows = query.execute(&mut *connection).await?.rows_affected();
        if let Some(outcome) = self.outcome().filter(|_| rows > 0) {
            sqlx::query(OUTCOME_PUT)
                .bind(outcome.t)
                .bind(&*outcome.key)
                .bind(outcome.part)
                .bind(outcome.hash.as_slice())
                .bind(&*outcome.answer)
                .bind(outcome.expires)
                .execute(connection)
                .await?;
        }
        Ok(rows)
    }
}

type Query<'a> = sqlx::query::Query<'a, sqlx_sqlite::Sqlite, sqlx_sqlite::SqliteArguments>;

fn add_hits<'a>(job: JobRow, first: i64, positions: &[Position]) -> Query<'a> {
    let list = json_list(positions.iter().map(|position| position.0));
    sqlx::query(JOB_ADD_HITS).bind(job.0).bind(first).bind(list)
}

impl Sqlite {
    pub(in crate::storage) async fn job(
        &self,
        tenant: TenantRow,
        id: JobId,
    ) -> Result<Option<Job>, Error> {
        let row: Option<JobData> = sqlx::query_as(JOB_GET)
            .bind(id.uuid())
            .bind(tenant.0)
            .fetch_optional(&self.reads)
            .await?;
        row.map(Job::try_from).transpose()
    }

    /// The next jobs that are to be run, and whose they are.
    pub(in crate::storage) async fn jobs_to_run(
        &self,
        after: JobRow,
        limit: i64,
    ) -> Result<Vec<(JobRow, TenantRow)>, Error> {
        let rows: Vec<(i64, i64)> = sqlx::query_as(JOB_WAITING)
            .bind(after.0)
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        let rows = rows.into_iter();
        Ok(rows.map(|(j, t)| (JobRow(j), TenantRow(t))).collect())
    }

    pub(in crate::storage) async fn job_plan(
        &self,
        job: JobRow,
    ) -> Result<Option<StoredJob>, Error> {
        let row: Option<PlanData> = sqlx::query_as(JOB_PLAN)
            .bind(job.0)
            .fetch_optional(&self.reads)
            .await?;
        row.map(StoredJob::try_from).transpose()
    }

    pub(in crate::storage) async fn expired_jobs(
        &self,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<JobRow>, Error> {
        let rows: Vec<i64> = sqlx::query_scalar(JOB_EXPIRED)
            .bind(now.micros())
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        Ok(rows.into_iter().map(JobRow).collect())
    }

    pub(in crate::storage) async fn hits(
        &self,
        job: JobRow,
        first: i64,
        limit: i64,
    ) -> Result<Vec<Position>, Error> {
        let rows: Vec<i64> = sqlx::query_scalar(JOB_HITS)
            .bind(job.0)
            .bind(first)
            .bind(first.saturating_add(limit))
            .fetch_all(&self.reads)
            .await?;
        Ok(rows.into_iter().map(Position).collect())
    }
}

#[derive(Debug, FromRow)]
struct JobData {
    j: i64,
    seq: i64,
    state: i64,
    created: i64,
    finished: Option<i64>,
    expires: Option<i64>,
    count: i64,
    took: i64,
}

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

#[derive(Debug, FromRow)]
struct PlanData {
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
