//! Background searches (`search.md` §6).
//!
//! A job reads at one sequence with the schema of its submission, so it finds the same whenever it
//! runs: one that a crash interrupted runs again from its start. Hits are written to a table in
//! parts and sorted on disk, so neither the number of hits nor that of waiting jobs takes much
//! memory. [`JobRunner`] is the task that runs a few of them at once, with fair shares for tenants;
//! [`Jobs`] is its handle.

use std::{time::Duration, vec};

use tokio::sync::mpsc;

use super::{JobRunner, Order, job_runner::News};
use crate::clock::Timestamp;
use crate::condition::{Condition, Undeclared};
use crate::entity::{Image, Position, Sequence};
use crate::error::{Code, Coded, Failure, Properties};
use crate::id::{JobId, Tenant};
use crate::storage::{
    Definitions, Finished, Job, JobState, NewJob, Snapshot, Storage, StoredOutcome,
};

/// How many messages may wait for the runner.
const NEWS_MAX: usize = 256;

/// The reported life of a job that has not ended.
const NOMINAL_LIFE: Duration = Duration::from_hours(24);

/// How many jobs of one tenant may wait or run.
const PENDING_MAX: i64 = 1_000;

/// How many entities of a page are read at once.
const PART: usize = 256;

/// Settings of all jobs.
#[derive(Debug, Clone, Copy)]
pub struct JobSettings {
    /// How long a job is kept after its end.
    pub life: Duration,
    /// The interval at which expired jobs are removed.
    pub reap_interval: Duration,
}

/// Why a request about a job fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    #[error("there is no search {0}; its result may have expired")]
    NotFound(JobId),
    #[error("search {id} is {state}: only a successful one has results", state = state.as_str())]
    NoResults { id: JobId, state: JobState },
    #[error("search {id} is {state}: only a running one can be cancelled", state = state.as_str())]
    Ended { id: JobId, state: JobState },
    #[error(
        "{PENDING_MAX} searches of this tenant are waiting or running; wait for them, or cancel some"
    )]
    TooMany,
}

impl Coded for JobError {
    fn code(&self) -> Code {
        match self {
            Self::NotFound(_) => Code::SearchJobNotFound,
            Self::NoResults { .. } => Code::BadRequest,
            Self::Ended { .. } => Code::SearchJobAlreadyTerminal,
            Self::TooMany => Code::TooManyRequests,
        }
    }

    fn properties(&self) -> Properties {
        match self {
            Self::Ended { id, state } | Self::NoResults { id, state } => vec![
                ("currentStatus", state.as_str().into()),
                ("snapshotId", id.to_string().into()),
            ],
            Self::NotFound(_) | Self::TooMany => Properties::new(),
        }
    }
}

/// A handle to all jobs; cheap to clone.
#[derive(Debug, Clone)]
pub struct Jobs {
    storage: Storage,
    settings: JobSettings,
    news: mpsc::Sender<News>,
}

/// The search of a job.
#[derive(Debug)]
pub struct Asked<'a> {
    pub definitions: &'a Definitions,
    pub condition: &'a Condition,
    /// The condition as it was given.
    pub text: &'a str,
    pub undeclared: Undeclared,
    pub order: &'a Order,
    /// The sequence at which it reads.
    pub at: Sequence,
}

impl Asked<'_> {
    /// Rejects a search that is invalid for the model (`search.md` §4).
    pub fn check(&self) -> Result<(), Failure> {
        let schema = &self.definitions.model.schema;
        self.condition.check_against(schema, self.undeclared)?;
        Ok(self.order.check_against(schema, self.undeclared)?)
    }

    /// The job in its initial state.
    pub const fn job(&self, created: Timestamp) -> Job {
        Job::new(created, self.at)
    }

    /// Read by the runner.
    fn encode(&self) -> String {
        let takes_fields = self.undeclared == Undeclared::Fields;
        serde_json::to_string(&(self.text, self.order.texts(), takes_fields)).unwrap_or_default()
    }
}

impl Jobs {
    pub fn new(storage: Storage, settings: JobSettings) -> (Self, JobRunner) {
        let (news, inbox) = mpsc::channel(NEWS_MAX);
        let jobs = Self {
            storage,
            settings,
            news,
        };
        let runner = JobRunner::new(jobs.storage.clone(), settings, inbox);
        (jobs, runner)
    }

    /// Starts a validated job; it is then durable. The count of pending ones is not exact if many are
    /// submitted at the same moment: it keeps the table from growing without an end.
    pub async fn submit(
        &self,
        tenant: &Tenant,
        id: JobId,
        job: &Job,
        asked: &Asked<'_>,
        outcome: Option<StoredOutcome>,
    ) -> Result<(), Failure> {
        if self.storage.pending_jobs(tenant, PENDING_MAX).await? == PENDING_MAX {
            return Err(JobError::TooMany.into());
        }
        let job = NewJob {
            id,
            definitions: asked.definitions,
            at: job.at,
            query: asked.encode().into(),
            created: job.created,
        };
        self.storage.submit_job(tenant, job, outcome).await?;
        self.announce(News::Submitted).await;
        Ok(())
    }

    /// The runner may have stopped: then the job resumes after the next start.
    async fn announce(&self, news: News) {
        let _ = self.news.send(news).await;
    }

    pub async fn get(&self, tenant: &Tenant, id: JobId) -> Result<Job, Failure> {
        let job = self.storage.job(tenant, id).await?;
        Ok(job.ok_or(JobError::NotFound(id))?)
    }

    /// The running job in the state it has once cancelled.
    pub async fn to_cancel(&self, tenant: &Tenant, id: JobId) -> Result<Job, Failure> {
        let job = self.get(tenant, id).await?;
        if job.state != JobState::Running {
            let state = job.state;
            return Err(JobError::Ended { id, state }.into());
        }
        Ok(Job {
            state: JobState::Cancelled,
            finished: Some(self.settings.finished(&self.storage)),
            ..job
        })
    }

    /// Cancels a job returned by [`Self::to_cancel`].
    pub async fn cancel(
        &self,
        tenant: &Tenant,
        id: JobId,
        cancelled: &Job,
        outcome: Option<StoredOutcome>,
    ) -> Result<(), Failure> {
        let storage = &self.storage;
        if storage.cancel_job(tenant, id, cancelled, outcome).await? {
            self.announce(News::Cancelled(cancelled.row)).await;
            return Ok(());
        }
        // It has ended meanwhile.
        let state = self.get(tenant, id).await?.state;
        Err(JobError::Ended { id, state }.into())
    }

    /// A page of the hits of a job, and the job.
    pub async fn page(
        &self,
        tenant: &Tenant,
        id: JobId,
        number: i64,
        size: i64,
    ) -> Result<(Job, JobPage), Failure> {
        let job = self.get(tenant, id).await?;
        if job.state != JobState::Successful {
            let state = job.state;
            return Err(JobError::NoResults { id, state }.into());
        }
        let snapshot = self.storage.snapshot(tenant, job.at).await?;
        let first = number.saturating_mul(size);
        let positions = snapshot.hits(job.row, first, size).await?;
        let page = JobPage {
            snapshot,
            ahead: positions.into_iter(),
        };
        Ok((job, page))
    }
}

impl JobSettings {
    /// The end of a job that ends now.
    pub(super) fn finished(&self, storage: &Storage) -> Finished {
        let at = storage.now();
        Finished {
            at,
            expires: at.after(self.life),
        }
    }
}

/// The time until which a job is said to be kept.
pub fn expires(job: &Job) -> Timestamp {
    let nominal = || job.created.after(NOMINAL_LIFE);
    job.finished
        .map_or_else(nominal, |finished| finished.expires)
}

/// A page of the hits of a job while it is sent.
#[derive(Debug)]
pub struct JobPage {
    snapshot: Snapshot,
    ahead: vec::IntoIter<Position>,
}

impl JobPage {
    /// The next entities, in order; none at the end. A part may be empty although more follow.
    pub async fn next(&mut self) -> Result<Option<Vec<Image>>, Failure> {
        let ahead = self.ahead.as_slice();
        if ahead.is_empty() {
            return Ok(None);
        }
        let part = &ahead[..ahead.len().min(PART)];
        let (versions, reached) = self.snapshot.versions(part).await?;
        self.ahead.by_ref().take(reached).for_each(drop);
        let images = versions.into_iter().map(|version| version.image);
        Ok(Some(images.collect()))
    }
}
