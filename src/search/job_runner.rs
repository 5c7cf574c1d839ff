//! The task that runs background searches, a few at once and with fair shares for tenants.

use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt as _, StreamExt as _, TryStreamExt as _, future::BoxFuture, stream::FuturesUnordered,
};
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::{JobSettings, Matches, Order, SortKey, View, document, facts};
use crate::condition::{Condition, Undeclared};
use crate::entity::Position;
use crate::error::{Code, Failure};
use crate::pool::Pool;
use crate::storage::{Definitions, JobEnd, JobRow, JobState, JobTenant, Sorter, Storage, Version};

/// How many jobs run at once.
const AT_ONCE: usize = 4;

/// How many jobs of one tenant run at once.
const OF_TENANT: usize = 2;

/// How many hits are written at once.
const HITS_AT_ONCE: usize = 4_000;

/// How many jobs are read at once.
const LISTED: i64 = 1_000;

/// The interval at which jobs of other processes are looked for.
const LOOKED: Duration = Duration::from_secs(1);

/// How often a job is tried before it fails.
const TRIES: usize = 3;

/// The pause before a retry.
const PAUSE: Duration = Duration::from_secs(1);

/// A message to the runner.
#[derive(Debug)]
pub(super) enum News {
    Submitted,
    Cancelled(JobRow),
}

/// The task that runs jobs.
#[derive(Debug)]
pub struct JobRunner {
    storage: Storage,
    settings: JobSettings,
    inbox: mpsc::Receiver<News>,
}

/// What has come to its end.
enum Done {
    Job(JobRow, JobTenant, Next),
    /// These are to be run as well.
    Listed(Vec<(JobRow, JobTenant)>),
}

/// What becomes of a job.
enum Next {
    Nothing,
    /// It gets in line again.
    Again,
}

impl JobRunner {
    pub(super) const fn new(
        storage: Storage,
        settings: JobSettings,
        inbox: mpsc::Receiver<News>,
    ) -> Self {
        Self {
            storage,
            settings,
            inbox,
        }
    }

    /// Runs jobs and removes those that have expired, until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        let reaping = reap(self.storage.clone(), self.settings.reap_interval);
        let working = self.work();
        stop.run_until_cancelled(async { tokio::join!(reaping, working) })
            .await;
    }

    async fn work(mut self) {
        let mut line = Line::default();
        let mut at_work: FuturesUnordered<BoxFuture<'static, Done>> = FuturesUnordered::new();
        let mut running: HashMap<JobRow, (JobTenant, CancellationToken)> = HashMap::new();
        // What is awaited here is awaited in one place only: what waits in `at_work` may hold what
        // something else would wait for.
        let mut has_news = true;
        let mut is_listing = false;
        // Other processes submit jobs, and leave them behind when they are gone.
        let is_shared = self.storage.is_shared();
        let mut looks = interval(LOOKED);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if has_news && !is_listing {
                (has_news, is_listing) = (false, true);
                let listing = list(self.storage.clone(), line.newest);
                at_work.push(listing.map(Done::Listed).boxed());
            }
            while running.len() < AT_ONCE {
                let of_tenant = |tenant| running.values().filter(|one| one.0 == tenant).count();
                let Some((job, tenant)) = line.next(|tenant| of_tenant(tenant) < OF_TENANT) else {
                    break;
                };
                let cancel = CancellationToken::new();
                running.insert(job, (tenant, cancel.clone()));
                let work = attend(self.storage.clone(), self.settings, job, cancel);
                at_work.push(work.map(move |next| Done::Job(job, tenant, next)).boxed());
            }
            tokio::select! {
                news = self.inbox.recv() => match news {
                    Some(News::Submitted) => has_news = true,
                    // One that waits is found to be cancelled when its turn comes.
                    Some(News::Cancelled(job)) => if let Some((_, cancel)) = running.get(&job) {
                        cancel.cancel();
                    },
                    None => return,
                },
                _ = looks.tick(), if is_shared => has_news = true,
                Some(done) = at_work.next(), if !at_work.is_empty() => match done {
                    Done::Listed(jobs) => {
                        is_listing = false;
                        has_news |= !jobs.is_empty();
                        for (job, tenant) in jobs {
                            line.newest = job;
                            line.add(job, tenant);
                        }
                    }
                    Done::Job(job, tenant, next) => {
                        running.remove(&job);
                        if matches!(next, Next::Again) {
                            line.add(job, tenant);
                        }
                    }
                },
            }
        }
    }
}

/// The next jobs that are to be run; none if there are no more.
async fn list(storage: Storage, after: JobRow) -> Vec<(JobRow, JobTenant)> {
    loop {
        match storage.jobs_to_run(after, LISTED).await {
            Ok(jobs) => return jobs,
            Err(error) => {
                warn!(%error, "pending searches could not be read; retrying");
                sleep(PAUSE).await;
            }
        }
    }
}

/// The jobs that wait, by tenant: tenants take turns.
#[derive(Debug)]
struct Line {
    turns: VecDeque<JobTenant>,
    jobs: HashMap<JobTenant, VecDeque<JobRow>>,
    /// The newest job that has been in it.
    newest: JobRow,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            turns: VecDeque::new(),
            jobs: HashMap::new(),
            newest: JobRow::FIRST,
        }
    }
}

impl Line {
    fn add(&mut self, job: JobRow, tenant: JobTenant) {
        let jobs = self.jobs.entry(tenant).or_default();
        if jobs.is_empty() {
            self.turns.push_back(tenant);
        }
        jobs.push_back(job);
    }

    /// The first job of the first tenant that may have its turn.
    fn next(&mut self, may: impl Fn(JobTenant) -> bool) -> Option<(JobRow, JobTenant)> {
        let place = self.turns.iter().position(|tenant| may(*tenant))?;
        let tenant = self.turns.remove(place)?;
        let jobs = self.jobs.get_mut(&tenant)?;
        let job = jobs.pop_front()?;
        if jobs.is_empty() {
            self.jobs.remove(&tenant);
        } else {
            self.turns.push_back(tenant);
        }
        Some((job, tenant))
    }
}

/// Does everything about one job.
async fn attend(
    storage: Storage,
    settings: JobSettings,
    job: JobRow,
    cancel: CancellationToken,
) -> Next {
    for attempt in 1.. {
        let making = cancel.run_until_cancelled(make(&storage, settings, job));
        let failure = match AssertUnwindSafe(making).catch_unwind().await {
            Ok(Some(Ok(Made::All))) => return Next::Nothing,
            // The next time shows whether it is still to be run.
            Ok(Some(Ok(Made::NotAll)) | None) => return Next::Again,
            Ok(Some(Err(failure))) => Some(failure),
            // The panic is logged.
            Err(_) => None,
        };
        let is_unwell = |failure: &Failure| failure.code() == Code::StorageUnavailable;
        if failure.as_ref().is_some_and(is_unwell) {
            sleep(PAUSE).await;
            return Next::Again;
        }
        let cause = failure.as_ref().and_then(Failure::internal_cause);
        // What is wrong with the search itself stays wrong.
        let is_refused = failure.is_some() && cause.is_none();
        let cause = cause.map(|(_, cause)| cause);
        let failure = failure.as_ref().map(tracing::field::display);
        if attempt == TRIES || is_refused {
            error!(failure, cause, "a search failed");
            break;
        }
        warn!(failure, cause, "a search failed; retrying");
        sleep(PAUSE).await;
    }
    let end = JobEnd {
        state: JobState::Failed,
        finished: settings.finished(&storage),
        count: 0,
        took: Duration::ZERO,
    };
    let ended = storage.finish_job(job, end, 0, Vec::new()).await;
    if let (Ok(true), Ok(())) = (ended, storage.drop_hits(job).await) {
        return Next::Nothing;
    }
    sleep(PAUSE).await;
    Next::Again
}

enum Made {
    /// There is nothing more to do about it.
    All,
    /// It was ended meanwhile, or a part may be lost.
    NotAll,
}

/// Finds what a job looks for, from its start to its end.
async fn make(storage: &Storage, settings: JobSettings, job: JobRow) -> Result<Made, Failure> {
    let began = Instant::now();
    if !storage.has_job(job).await? {
        return Ok(Made::All);
    }
    // Another process may have been asked for it, and may have seen more than this one so far.
    storage.refresh().await?;
    let Some(plan) = storage.job_plan(job).await? else {
        storage.drop_hits(job).await?;
        return Ok(Made::All);
    };
    if plan.begun {
        storage.drop_hits(job).await?;
    }
    let definitions = &Arc::new(plan.definitions);
    let reading = Pool::for_reading().run(definitions.party(), move |stop| {
        let looked = Looked::read(&plan.query)?;
        looked.condition.compile(stop);
        Ok::<_, Failure>(looked)
    });
    let looked = reading.await?;
    let mut hits = Spilling {
        storage,
        job,
        written: 0,
        part: Vec::new(),
    };
    let view = View::as_of(plan.snapshot);
    let matches = Matches::new(view, definitions, &looked.condition, looked.undeclared);
    let mut matches = matches.await?.without_budget();
    let went_on = if looked.order.is_empty() {
        hits.take_as_they_come(&mut matches).await?
    } else {
        let mut sorter = Sorter::open().await?;
        while let Some(part) = matches.next().await? {
            for version in part {
                let key = looked.key(&version, definitions)?;
                sorter.add(key, version.position).await?;
            }
        }
        let went_on = hits.take_sorted(&mut sorter).await?;
        sorter.close().await?;
        went_on
    };
    if went_on && hits.finish(settings, began).await? {
        Ok(Made::All)
    } else {
        Ok(Made::NotAll)
    }
}

/// What a job looks for.
struct Looked {
    condition: Arc<Condition>,
    order: Order,
    undeclared: Undeclared,
}

impl Looked {
    fn read(text: &str) -> Result<Self, Failure> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Failure::internal(format!("a stored search is not readable: {error}"))
        };
        let (condition, order, takes_fields): (String, Vec<String>, bool) =
            serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        let keys: Result<_, _> = order.iter().map(|key| SortKey::parse(key)).collect();
        let order = keys
            .and_then(Order::new)
            .map_err(|error| unreadable(&error))?;
        Ok(Self {
            condition: Arc::new(Condition::parse(&condition).map_err(|error| unreadable(&error))?),
            order,
            undeclared: if takes_fields {
                Undeclared::Fields
            } else {
                // It was checked as its profile wants when it was submitted.
                Undeclared::Values
            },
        })
    }

    /// Bytes that sort as the entities do: those of the keys, then those of the id.
    fn key(&self, version: &Version, definitions: &Definitions) -> Result<Vec<u8>, Failure> {
        let document = document(version)?;
        let keys = self
            .order
            .keys_of(facts(version, &document, definitions, false));
        let mut bytes = Vec::new();
        self.order.write_sortable(&keys, &mut bytes);
        bytes.extend(version.image.id.uuid().as_bytes());
        Ok(bytes)
    }
}

/// Hits on their way to the table. Each answers whether the job is still to be run.
struct Spilling<'a> {
    storage: &'a Storage,
    job: JobRow,
    /// How many are there.
    written: i64,
    part: Vec<Position>,
}

impl Spilling<'_> {
    async fn take_as_they_come(&mut self, matches: &mut Matches<'_>) -> Result<bool, Failure> {
        while let Some(part) = matches.next().await? {
            for version in part {
                if !self.add(version.position).await? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    async fn take_sorted(&mut self, from: &mut Sorter) -> Result<bool, Failure> {
        let mut sorted = from.sorted().await?;
        while let Some(position) = sorted.try_next().await? {
            if !self.add(position).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn add(&mut self, position: Position) -> Result<bool, Failure> {
        self.part.push(position);
        if self.part.len() < HITS_AT_ONCE {
            return Ok(true);
        }
        let first = self.written;
        let part = self.take_part();
        Ok(self.storage.add_hits(self.job, first, part).await?)
    }

    fn take_part(&mut self) -> Vec<Position> {
        let part = std::mem::take(&mut self.part);
        self.written += i64::try_from(part.len()).unwrap_or(0);
        part
    }

    async fn finish(mut self, settings: JobSettings, began: Instant) -> Result<bool, Failure> {
        let first = self.written;
        let part = self.take_part();
        let end = JobEnd {
            state: JobState::Successful,
            finished: settings.finished(self.storage),
            count: self.written,
            took: began.elapsed(),
        };
        let finished = self.storage.finish_job(self.job, end, first, part).await;
        Ok(finished?)
    }
}

/// Removes what has expired, now and then.
async fn reap(storage: Storage, interval: Duration) {
    loop {
        if let Err(error) = storage.drop_expired_jobs().await {
            warn!(%error, "expired searches could not be removed; retrying later");
        }
        sleep(interval.max(PAUSE)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_take_turns_and_none_has_more_than_its_share_at_once() {
        let [one, two] = [1, 2].map(JobTenant::test);
        let mut line = Line::default();
        for job in 1..=4 {
            line.add(JobRow::test(job), one);
        }
        line.add(JobRow::test(5), two);
        let mut taken = |may: &dyn Fn(JobTenant) -> bool| line.next(may).map(|(job, _)| job);
        let everyone = |_| true;
        assert_eq!(taken(&everyone), Some(JobRow::test(1)));
        assert_eq!(taken(&everyone), Some(JobRow::test(5)));
        assert_eq!(taken(&|tenant| tenant != one), None);
        assert_eq!(taken(&everyone), Some(JobRow::test(2)));
        assert_eq!(taken(&everyone), Some(JobRow::test(3)));
        assert_eq!(taken(&everyone), Some(JobRow::test(4)));
        assert_eq!(taken(&everyone), None);
    }
}
