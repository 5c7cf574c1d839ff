//! Searches that run on their own, and what they find.

use std::time::Duration;

use sqlx_postgres::PgConnection;

use super::{Postgres, node::micros};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::JobId;
use crate::storage::{
    port::{Error, Job, JobChore, JobRow, NodeRow, StoredJob, TenantRow},
    rows::{JobData, PlanData},
};

const JOB_ADD_HITS: &str = include_str!("sql/job_add_hits.sql");
const JOB_CLAIM: &str = include_str!("sql/job_claim.sql");
const JOB_HAS: &str = include_str!("sql/job_has.sql");
const JOB_CANCEL: &str = include_str!("sql/job_cancel.sql");
const JOB_DROP: &str = include_str!("sql/job_drop.sql");
const JOB_DROP_HITS: &str = include_str!("sql/job_drop_hits.sql");
const JOB_EXPIRED: &str = include_str!("sql/job_expired.sql");
const JOB_FINISH: &str = include_str!("sql/job_finish.sql");
const JOB_GET: &str = include_str!("sql/job_get.sql");
const JOB_HITS: &str = include_str!("sql/job_hits.sql");
const JOB_PENDING: &str = include_str!("sql/job_pending.sql");
const JOB_PLAN: &str = include_str!("sql/job_plan.sql");
const JOB_PUT: &str = include_str!("sql/job_put.sql");
const JOB_WAITING: &str = include_str!("sql/job_waiting.sql");
const OUTCOME_PUT: &str = include_str!("sql/outcome_put.sql");

/// How many hits are removed in one go.
const REMOVED_AT_ONCE: i64 = 4_000;

/// Does a chore; how many rows that took.
pub(super) async fn write(
    chore: &JobChore,
    connection: &mut PgConnection,
) -> Result<u64, sqlx::Error> {
    let key = chore.outcome().map(|outcome| &*outcome.key);
    let query = match chore {
        JobChore::Put {
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
        JobChore::Cancel { job, finished, .. } => sqlx::query(JOB_CANCEL)
            .bind(job.0)
            .bind(finished.at.micros())
            .bind(finished.expires.micros())
            .bind(key),
        JobChore::AddHits {
            job,
            by,
            first,
            positions,
        } => {
            let added = add_hits(*job, *by, *first, positions);
            return Ok(added.execute(connection).await?.rows_affected());
        }
        JobChore::Finish {
            job,
            by,
            end,
            first,
            positions,
        } => {
            if !positions.is_empty() {
                let added = add_hits(*job, *by, *first, positions);
                added.execute(&mut *connection).await?;
            }
            sqlx::query(JOB_FINISH)
                .bind(job.0)
                .bind(end.state.code())
                .bind(end.finished.at.micros())
                .bind(end.finished.expires.micros())
                .bind(end.count)
                .bind(i64::try_from(end.took.as_millis()).unwrap_or(i64::MAX))
                .bind(by.0)
        }
        JobChore::DropHits { job, by } => sqlx::query(JOB_DROP_HITS)
            .bind(job.0)
            .bind(REMOVED_AT_ONCE)
            .bind(by.map(|by| by.0)),
        JobChore::Drop(job) => sqlx::query(JOB_DROP).bind(job.0),
    };
    let rows = query.execute(&mut *connection).await?.rows_affected();
    if let Some(outcome) = chore.outcome().filter(|_| rows > 0) {
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

type Query<'a> = sqlx::query::Query<'a, sqlx_postgres::Postgres, sqlx_postgres::PgArguments>;

fn add_hits<'a>(job: JobRow, by: NodeRow, first: i64, positions: &[Position]) -> Query<'a> {
    let list: Vec<i64> = positions.iter().map(|position| position.0).collect();
    let query = sqlx::query(JOB_ADD_HITS).bind(job.0).bind(first);
    query.bind(list).bind(by.0)
}

impl Postgres {
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

    /// How many jobs of a tenant wait or run, counted up to a number.
    pub(in crate::storage) async fn pending_jobs(
        &self,
        tenant: TenantRow,
        at_most: i64,
    ) -> Result<i64, Error> {
        let count = sqlx::query_scalar(JOB_PENDING)
            .bind(tenant.0)
            .bind(at_most)
            .fetch_one(&self.reads)
            .await?;
        Ok(count)
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

    /// Takes jobs that are to be run for a node; those that it got, and whose they are. A node is live
    /// if its last beat is so recent.
    pub(in crate::storage) async fn claim_jobs(
        &self,
        own: NodeRow,
        limit: i64,
        age: Duration,
    ) -> Result<Vec<(JobRow, TenantRow)>, Error> {
        let rows: Vec<(i64, i64)> = sqlx::query_as(JOB_CLAIM)
            .bind(own.0)
            .bind(micros(age))
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        let rows = rows.into_iter();
        Ok(rows.map(|(j, t)| (JobRow(j), TenantRow(t))).collect())
    }

    /// Whether a node has a job.
    pub(in crate::storage) async fn has_job(
        &self,
        own: NodeRow,
        job: JobRow,
    ) -> Result<bool, Error> {
        Ok(sqlx::query_scalar(JOB_HAS)
            .bind(job.0)
            .bind(own.0)
            .fetch_one(&self.reads)
            .await?)
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
