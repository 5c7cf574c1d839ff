//! Searches that run on their own: what is looked for, what was found, and until when that is
//! kept (`search.md` §6).
//!
//! A job is durable when its submission is answered, and so is what it finds, a part at a time.
//! None of it is a commit: it takes no position, and each part is written between two batches, so
//! that no write waits longer than for one of them.

use std::sync::Arc;

use super::{
    Error, Snapshot, Storage,
    draft::{self, StoredOutcome},
    port::{
        Definitions, Job, JobChore, JobEnd, JobRow, JobState, Node, NodeRow, TenantRow, Upkeep,
    },
};
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::{JobId, Tenant};

/// A job that is to be made.
#[derive(Debug)]
pub struct NewJob<'a> {
    pub id: JobId,
    pub definitions: &'a Definitions,
    /// What it sees.
    pub at: Sequence,
    /// What is looked for, in the words of who looks.
    pub query: Arc<str>,
    pub created: Timestamp,
}

/// A job that is to be run.
#[derive(Debug)]
pub struct JobPlan {
    pub snapshot: Snapshot,
    /// With the schema as it was when the job was submitted.
    pub definitions: Definitions,
    pub query: String,
    /// Whether it has found something before it was interrupted.
    pub begun: bool,
}

impl Storage {
    /// Makes a job. Of a request that was done before the outcome is there instead.
    pub async fn submit_job(
        &self,
        tenant: &Tenant,
        job: NewJob<'_>,
        outcome: Option<StoredOutcome>,
    ) -> Result<(), Error> {
        let definitions = job.definitions;
        let schema = definitions.model.schema.encode();
        let chore = JobChore::Put {
            id: job.id,
            tenant: definitions.tenant,
            model: definitions.row,
            at: job.at,
            query: job.query,
            schema: schema.map_err(|_| Error::Inconsistent {
                table: "model",
                column: "schema",
                row: definitions.row.0,
            })?,
            created: job.created,
            outcome: outcome.map(|outcome| draft::outcome_row(&outcome, definitions.tenant)),
        };
        let is_once = chore.outcome().is_some();
        if self.keep_up(Upkeep::Job(chore)).await? > 0 {
            return Ok(());
        }
        // It was done before, or the storage was not well meanwhile.
        match self.job(tenant, job.id).await? {
            Some(_) => Ok(()),
            None if is_once => Err(Error::Repeated),
            None => Err(Error::Unavailable),
        }
    }

    /// Ends a job as it is given; whether it was running.
    pub async fn cancel_job(
        &self,
        tenant: &Tenant,
        id: JobId,
        cancelled: &Job,
        outcome: Option<StoredOutcome>,
    ) -> Result<bool, Error> {
        let row = self.tenant_row(tenant).await?;
        let (Some(row), Some(finished)) = (row, cancelled.finished) else {
            return Ok(false);
        };
        let chore = JobChore::Cancel {
            job: cancelled.row,
            finished,
            outcome: outcome.map(|outcome| draft::outcome_row(&outcome, row)),
        };
        let is_once = chore.outcome().is_some();
        if self.keep_up(Upkeep::Job(chore)).await? > 0 {
            return Ok(true);
        }
        match self.job(tenant, id).await? {
            Some(job) if job.state != JobState::Running => Ok(false),
            None => Ok(false),
            Some(_) if is_once => Err(Error::Repeated),
            Some(_) => Err(Error::Unavailable),
        }
    }

    /// The job of that id; none once it has expired.
    pub async fn job(&self, tenant: &Tenant, id: JobId) -> Result<Option<Job>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        let now = self.now();
        let job = self.0.database.job(tenant, id).await?;
        Ok(job.filter(|job| job.finished.is_none_or(|finished| now < finished.expires)))
    }

    /// How many jobs of a tenant wait or run, counted up to a number.
    pub async fn pending_jobs(&self, tenant: &Tenant, at_most: i64) -> Result<i64, Error> {
        match self.tenant_row(tenant).await? {
            Some(tenant) => self.0.database.pending_jobs(tenant, at_most).await,
            None => Ok(0),
        }
    }

    /// The next jobs after one that are to be run, and a name for the tenant of each. Where several
    /// processes use the database, those that this one has taken.
    pub async fn jobs_to_run(
        &self,
        after: JobRow,
        limit: i64,
    ) -> Result<Vec<(JobRow, JobTenant)>, Error> {
        let jobs = if self.is_shared() {
            let database = &self.0.database;
            database.claim_jobs(self.node(), limit, Node::LIVE).await?
        } else {
            self.0.database.jobs_to_run(after, limit).await?
        };
        Ok(jobs
            .into_iter()
            .map(|(job, tenant)| (job, JobTenant(tenant)))
            .collect())
    }

    /// Whether a job that was to be run here still is: it is another's once this process seemed
    /// to be gone.
    pub async fn has_job(&self, job: JobRow) -> Result<bool, Error> {
        self.0.database.has_job(self.node(), job).await
    }

    /// What is to be done about a job; none if it is running no more.
    pub async fn job_plan(&self, job: JobRow) -> Result<Option<JobPlan>, Error> {
        let Some(stored) = self.0.database.job_plan(job).await? else {
            return Ok(None);
        };
        let tenant = stored.definitions.tenant;
        Ok(Some(JobPlan {
            snapshot: Snapshot::new(self.clone(), Some(tenant), stored.at),
            definitions: stored.definitions,
            query: stored.query,
            begun: stored.begun,
        }))
    }

    /// Adds to what a job has found, from a number on; false if it is running no more.
    pub async fn add_hits(
        &self,
        job: JobRow,
        first: i64,
        positions: Vec<Position>,
    ) -> Result<bool, Error> {
        let chore = JobChore::AddHits {
            job,
            by: self.node(),
            first,
            positions,
        };
        Ok(self.keep_up(Upkeep::Job(chore)).await? > 0)
    }

    /// Adds the last of what a job has found and ends it, in one; false if it was running no more.
    pub async fn finish_job(
        &self,
        job: JobRow,
        end: JobEnd,
        first: i64,
        positions: Vec<Position>,
    ) -> Result<bool, Error> {
        let chore = JobChore::Finish {
            job,
            by: self.node(),
            end,
            first,
            positions,
        };
        Ok(self.keep_up(Upkeep::Job(chore)).await? > 0)
    }

    /// Removes everything that a job has found which this process has.
    pub async fn drop_hits(&self, job: JobRow) -> Result<(), Error> {
        self.drop_hits_by(job, Some(self.node())).await
    }

    async fn drop_hits_by(&self, job: JobRow, by: Option<NodeRow>) -> Result<(), Error> {
        while self
            .keep_up(Upkeep::Job(JobChore::DropHits { job, by }))
            .await?
            > 0
        {}
        Ok(())
    }

    /// Removes the jobs that have expired, and what they have found.
    pub async fn drop_expired_jobs(&self) -> Result<(), Error> {
        /// How many are looked up at once.
        const PART: i64 = 256;
        loop {
            let expired = self.0.database.expired_jobs(self.now(), PART).await?;
            if expired.is_empty() {
                return Ok(());
            }
            for job in expired {
                self.drop_hits_by(job, None).await?;
                self.keep_up(Upkeep::Job(JobChore::Drop(job))).await?;
            }
        }
    }
}

impl Snapshot {
    /// What a job has found, from a number on, `limit` at most.
    pub async fn hits(&self, job: JobRow, first: i64, limit: i64) -> Result<Vec<Position>, Error> {
        self.storage.0.database.hits(job, first, limit).await
    }
}

/// Distinguishes the jobs of one tenant from those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobTenant(TenantRow);

impl JobTenant {
    /// For tests that need some.
    #[cfg(test)]
    pub(crate) const fn test(number: i64) -> Self {
        Self(TenantRow(number))
    }
}
