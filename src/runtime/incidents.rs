//! Work that fails: it is tried again after a growing pause, and stops as an incident once that has
//! happened too often (`help/design/runs.md` §9.1).

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tracing::{debug, error, warn};

use super::{Initiator, Runtime, Session, runs::Arrived};
use crate::backoff::nth;
use crate::clock::Timestamp;
use crate::error::{Code, Failure, panic_text};
use crate::id::{RunId, Tenant};
use crate::random::mixed;
use crate::registry::producer;
use crate::storage::{Subject, Task, Trouble, Work};
use crate::telemetry::measure::IncidentKind;
use crate::text;

/// After how many failures work stops, and after how many panics.
const TRIES_MAX: u32 = 20;
const PANICS_MAX: u32 = 3;

/// The longest pause, as a multiple of the first one.
const PAUSE_GROWTH: u32 = 300;

/// How many bytes of a reason are kept.
const REASON_MAX: usize = 2_000;

/// How work failed.
#[derive(Debug)]
pub(super) enum Fault {
    Failed(Failure),
    Panicked(String),
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Again(Duration),
    /// It is an incident.
    Stopped,
}

/// Whether work may be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    No,
    For(Duration),
    /// It is an incident.
    Stopped,
}

/// Work, and how operators recognize it.
#[derive(Debug)]
pub(super) struct About {
    pub(super) work: Work,
    pub(super) run: Option<Box<str>>,
    pub(super) entity: Option<Box<str>>,
    pub(super) name: Option<Box<str>>,
}

impl About {
    pub(super) const fn new(work: Work) -> Self {
        Self {
            work,
            run: None,
            entity: None,
            name: None,
        }
    }
}

/// The pause after a panic of a background loop.
const AFTER_PANIC: Duration = Duration::from_secs(1);

/// Does work; a panic in it is a fault like others.
pub(super) async fn contained<T>(
    work: impl Future<Output = Result<T, Failure>> + Send,
) -> Result<T, Fault> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(done) => done.map_err(Fault::Failed),
        Err(panic) => Err(Fault::Panicked(panic_text(panic.as_ref()).to_owned())),
    }
}

/// Does background work until it ends; after a panic, which is logged, from its beginning.
pub(super) async fn lasting<Work: Future<Output = ()> + Send>(work: impl Fn() -> Work + Send) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tokio::time::sleep(AFTER_PANIC).await;
    }
}

impl Fault {
    /// Whether it says something about the work, and not about the moment.
    fn counts(&self) -> bool {
        match self {
            Self::Panicked(_) => true,
            Self::Failed(failure) => !matches!(
                failure.code(),
                Code::Conflict
                    | Code::Cancelled
                    | Code::StorageUnavailable
                    | Code::OutcomeUnknown
                    | Code::TooManyRequests
            ),
        }
    }

    /// Whether the storage cannot be used for now.
    fn is_unavailability(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.code() == Code::StorageUnavailable)
    }

    /// Whether the work was ended, and did not fail.
    fn is_stop(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.code() == Code::Cancelled)
    }

    /// Whether it is about what is ours. Members, criteria and models fail timers as often as it
    /// takes (`workflow-engine.md` §9.4).
    fn is_ours(&self) -> bool {
        match self {
            Self::Panicked(_) => true,
            Self::Failed(failure) => {
                matches!(failure.code(), Code::ServerError | Code::StorageDamaged)
            }
        }
    }

    /// Why, as operators read it.
    fn reason(&self) -> Box<str> {
        let text = match self {
            Self::Panicked(text) => format!("panic: {text}"),
            Self::Failed(failure) => match failure.internal_cause() {
                Some((_, cause)) => cause.to_owned(),
                None => failure.to_string(),
            },
        };
        text::start(&text, REASON_MAX).into()
    }

    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Panicked(text) => Failure::internal(format!("panic: {text}")),
        }
    }
}

/// What is known after another failure of work.
fn after(before: Option<&Trouble>, about: About, fault: &Fault, pacing: Pacing) -> Trouble {
    let now = pacing.now;
    let (tries, panics, since) = match before {
        Some(before) => (before.tries, before.panics, before.since),
        None => (0, 0, now.micros()),
    };
    let (tries, panics) = (
        tries.saturating_add(1),
        panics + u32::from(matches!(fault, Fault::Panicked(_))),
    );
    let goes_on = tries < TRIES_MAX && panics < PANICS_MAX;
    Trouble {
        work: about.work,
        tries,
        panics,
        reason: fault.reason(),
        since,
        due: goes_on.then(|| now.after(pacing.pause(tries)).micros()),
        run: about.run,
        entity: about.entity,
        name: about.name,
    }
}

/// When work is tried again.
#[derive(Debug, Clone, Copy)]
struct Pacing {
    now: Timestamp,
    first: Duration,
    /// Whether the pause grows, and differs by up to a fifth.
    grows: bool,
}

impl Pacing {
    fn pause(self, tries: u32) -> Duration {
        if !self.grows {
            return self.first;
        }
        let pause = nth(self.first, self.first.saturating_mul(PAUSE_GROWTH), tries);
        // The instant is as good as a random number.
        let chance = mixed(self.now.micros().unsigned_abs());
        let percent = u32::try_from(80 + chance % 41).unwrap_or(100);
        pause.saturating_mul(percent) / 100
    }
}

impl Runtime {
    /// Whether work may be done now, or is held back by earlier failures.
    pub(super) fn held(&self, tenant: &Tenant, work: &Work) -> Held {
        let Some(trouble) = self.storage().trouble(tenant, work) else {
            return Held::No;
        };
        match trouble.due {
            None => Held::Stopped,
            Some(due) => {
                let pause = Timestamp::from_micros(due).since(self.0.clock.now());
                let settings = &self.0.settings;
                let grown = settings.retry_pause.saturating_mul(PAUSE_GROWTH);
                let longest = settings.task_pause.max(grown.saturating_mul(6) / 5);
                // No pause is longer: the clock was ahead when it failed.
                if pause.is_zero() || pause > longest {
                    Held::No
                } else {
                    Held::For(pause)
                }
            }
        }
    }

    /// The work of a due task; none of one that is not stored.
    pub(super) fn work_of(task: &Task) -> Work {
        match task.subject {
            Subject::Run(run) => Work::run(run),
            Subject::Entity(_) => Work::timer(task.key),
        }
    }

    /// Notes that a due task failed.
    pub(super) async fn task_failed(&self, task: &Task, fault: Fault) -> Verdict {
        let about = match task.subject {
            Subject::Run(run) => return self.run_failed(&task.tenant, run, &fault).await,
            Subject::Entity(entity) => About {
                entity: Some(entity.to_string().into()),
                name: Some((&*task.name).into()),
                ..About::new(Work::timer(task.key))
            },
        };
        let pause = self.0.settings.task_pause;
        if fault.is_unavailability() {
            // The storage says so itself, and a timer is not to wait for longer than that lasts.
            debug!(name = &*task.name, "a timer waits for the storage");
            return Verdict::Again(pause.min(self.0.settings.retry_pause));
        }
        if !fault.is_ours() {
            warn_of(&about, &fault);
            return Verdict::Again(pause);
        }
        let pacing = Pacing {
            now: self.0.clock.now(),
            first: pause,
            grows: false,
        };
        self.failed(&task.tenant, about, &fault, pacing).await
    }

    /// Notes that an advance of a run failed.
    pub(super) async fn run_failed(&self, tenant: &Tenant, run: RunId, fault: &Fault) -> Verdict {
        let about = self.about_run(tenant, run).await;
        self.work_failed(tenant, about, fault).await
    }

    /// Makes a run an incident, in the transaction of a session: nobody repeats what has failed.
    pub(super) async fn stop_run(
        &self,
        session: &mut Session,
        tenant: &Tenant,
        run: RunId,
        fault: &Fault,
    ) -> Result<(), Failure> {
        let before = self.storage().trouble(tenant, &Work::run(run));
        if before.as_ref().is_some_and(|before| before.is_incident()) {
            return Ok(());
        }
        let pacing = Pacing {
            now: self.0.clock.now(),
            first: Duration::ZERO,
            grows: false,
        };
        let about = self.about_run(tenant, run).await;
        let stopped = Trouble {
            due: None,
            ..after(before.as_deref(), about, fault, pacing)
        };
        session.unit()?.put_trouble(&stopped)?;
        Ok(())
    }

    async fn about_run(&self, tenant: &Tenant, run: RunId) -> About {
        let mut about = About::new(Work::run(run));
        if let Ok(Some(stored)) = self.storage().run(tenant, run).await {
            let id = self.run_state(&stored).map(|state| state.run.id.clone());
            about.run = Some(id.unwrap_or_else(|_| run.to_string().into()));
            about.name = Some((&*stored.name.name).into());
        }
        about
    }

    /// Notes that work failed whose pause grows.
    pub(super) async fn work_failed(
        &self,
        tenant: &Tenant,
        about: About,
        fault: &Fault,
    ) -> Verdict {
        let first = self.0.settings.retry_pause;
        if !fault.counts() {
            if fault.is_stop() {
                debug!(work = %about.work.id(), "work is stopped with the service");
            } else if fault.is_unavailability() {
                // The storage says so itself, once for all work.
                debug!(work = %about.work.id(), "work waits for the storage");
            } else {
                warn_of(&about, fault);
            }
            return Verdict::Again(first);
        }
        let pacing = Pacing {
            now: self.0.clock.now(),
            first,
            grows: true,
        };
        self.failed(tenant, about, fault, pacing).await
    }

    /// Stores that work failed. If that cannot be stored, it is not counted.
    async fn failed(
        &self,
        tenant: &Tenant,
        about: About,
        fault: &Fault,
        pacing: Pacing,
    ) -> Verdict {
        let before = self.storage().trouble(tenant, &about.work);
        if before.as_ref().is_some_and(|before| before.is_incident()) {
            return Verdict::Stopped;
        }
        warn_of(&about, fault);
        let trouble = after(before.as_deref(), about, fault, pacing);
        let pause = match trouble.due {
            Some(due) => Timestamp::from_micros(due).since(pacing.now),
            None => pacing.pause(trouble.tries),
        };
        if let Err(failure) = self.store_trouble(tenant, &trouble).await {
            warn!(failure = %failure.in_full(), "a failure could not be stored, so it is not counted");
            return Verdict::Again(pause);
        }
        if trouble.due.is_some() {
            return Verdict::Again(pause);
        }
        let (incident, tries) = (trouble.work.id(), trouble.tries);
        error!(incident.id = %incident, tries, reason = %trouble.reason, "work failed too often and has stopped; see `interlock incidents list`");
        Verdict::Stopped
    }

    async fn store_trouble(&self, tenant: &Tenant, trouble: &Trouble) -> Result<(), Failure> {
        let (by, mut session) = self.own_session(tenant);
        session.unit()?.put_trouble(trouble)?;
        session.finish(&by.cancel).await
    }

    /// Forgets that work failed.
    pub(super) async fn settle(&self, tenant: &Tenant, work: &Work) -> Result<(), Failure> {
        if self.storage().trouble(tenant, work).is_none() {
            return Ok(());
        }
        let (by, mut session) = self.own_session(tenant);
        session.unit()?.settle(work)?;
        session.finish(&by.cancel).await
    }

    /// A session of the service itself.
    pub(super) fn own_session(&self, tenant: &Tenant) -> (Initiator, Session) {
        let by = Initiator::system(tenant);
        let session = self.session_for(&by, by.attribution());
        (by, session)
    }

    /// The incidents of a tenant after an identifier; with them, whether there may be more.
    pub async fn incidents(
        &self,
        tenant: &Tenant,
        kind: Option<IncidentKind>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(Arc<str>, Arc<Trouble>)>, Failure> {
        let mut found = Vec::new();
        let mut after = after.map(str::to_owned);
        loop {
            let page =
                self.storage()
                    .incidents(tenant, kind, after.as_deref(), limit - found.len());
            let Some((last, _)) = page.last() else {
                return Ok(found);
            };
            after = Some(last.to_string());
            for (id, trouble) in page {
                if self.is_still_there(&trouble.work).await? {
                    found.push((id, trouble));
                } else {
                    self.sweep(tenant, &trouble.work).await;
                }
            }
            if found.len() == limit {
                return Ok(found);
            }
        }
    }

    /// Whether there is still something to do: a timer goes with its entity.
    async fn is_still_there(&self, work: &Work) -> Result<bool, Failure> {
        match work {
            Work::Timer(key) => Ok(self.storage().timer(*key).await?.is_some()),
            Work::Run(_) | Work::Producer(..) => Ok(true),
        }
    }

    /// Forgets the incident of work that is gone. If that fails, the next read of incidents does
    /// it: incidents can be read while writes are refused.
    async fn sweep(&self, tenant: &Tenant, work: &Work) {
        if let Err(failure) = self.settle(tenant, work).await {
            debug!(failure = %failure.in_full(), "the incident of work that is gone could not be removed");
        }
    }

    /// The incident of that identifier.
    pub async fn incident(&self, tenant: &Tenant, id: &str) -> Result<Arc<Trouble>, Failure> {
        let found = self.storage().incident(tenant, id);
        if let Some(trouble) = found {
            if self.is_still_there(&trouble.work).await? {
                return Ok(trouble);
            }
            self.sweep(tenant, &trouble.work).await;
        }
        let message = format!("there is no incident {id}; list those that are open");
        Err(Failure::new(Code::IncidentNotFound, message).with("incidentId", id))
    }

    /// Ends the work of an incident, in the transaction of a session: a run is cancelled, a timer
    /// dropped, a producer stays as it is until it is written or enabled again.
    pub async fn cancel_work(
        &self,
        session: &mut Session,
        by: &Initiator,
        work: &Work,
    ) -> Result<Option<Arrived>, Failure> {
        match work {
            Work::Run(run) => {
                let run = RunId::new(*run);
                let cancelled = self.cancel_stopped(session, by, run).await?;
                return Ok(Some(cancelled));
            }
            Work::Timer(key) => {
                if let Some(task) = self.storage().timer(*key).await? {
                    session.unit()?.drop_task(&task);
                }
            }
            Work::Producer(namespace, name) => {
                producer::stop(session.unit()?, namespace, name).await?;
            }
        }
        session.unit()?.settle(work)?;
        Ok(None)
    }
}

fn warn_of(about: &About, fault: &Fault) {
    let (work, reason) = (about.work.id(), fault.reason());
    warn!(work = %work, %reason, "work failed; it will be retried");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::runtime::{RunSettings, testing::runtime_with};

    fn again(before: Option<&Trouble>, fault: &Fault, now: i64) -> Trouble {
        let pacing = Pacing {
            now: Timestamp::from_micros(now),
            first: Duration::from_secs(1),
            grows: true,
        };
        after(before, About::new(Work::Run(1)), fault, pacing)
    }

    fn failed() -> Fault {
        Fault::Failed(Failure::internal("the form cannot be read"))
    }

    #[test]
    fn the_twentieth_failure_is_an_incident_and_pauses_grow_to_five_minutes() {
        let mut trouble: Option<Trouble> = None;
        let mut now = 1_000_000;
        for tries in 1..20 {
            let next = again(trouble.as_ref(), &failed(), now);
            assert_eq!((next.tries, next.since), (tries, 1_000_000));
            let pause = next.due.expect("tried again") - now;
            let usual = (1_000_000 << (tries - 1).min(20)).min(300_000_000);
            let range = usual * 8 / 10..=usual * 12 / 10;
            assert!(range.contains(&pause), "{tries}: {pause}");
            now += pause;
            trouble = Some(next);
        }
        let last = again(trouble.as_ref(), &failed(), now);
        assert!(last.is_incident());
        assert_eq!(&*last.reason, "the form cannot be read");
    }

    #[tokio::test]
    async fn a_failure_while_the_clock_was_ahead_holds_nothing_once_it_is_right() {
        let clock = ManualClock::default();
        clock.advance_ms(30 * 86_400_000);
        let runtime = runtime_with(&clock, RunSettings::DEFAULT).await;
        let (tenant, work): (Tenant, _) = ("t".into(), Work::run(RunId::new(1)));
        let about = About::new(Work::run(RunId::new(1)));
        let verdict = runtime.work_failed(&tenant, about, &failed()).await;
        assert!(matches!(verdict, Verdict::Again(_)));
        assert!(matches!(runtime.held(&tenant, &work), Held::For(_)));
        clock.step_ms(-29 * 86_400_000);
        assert_eq!(runtime.held(&tenant, &work), Held::No);
    }

    #[test]
    fn the_third_panic_is_an_incident() {
        let panic = Fault::Panicked("overflow".to_owned());
        let first = again(None, &panic, 1);
        let second = again(Some(&first), &failed(), 2);
        let third = again(Some(&second), &panic, 3);
        assert!(!third.is_incident());
        let fourth = again(Some(&third), &panic, 4);
        assert_eq!((fourth.tries, fourth.panics), (4, 3));
        assert!(fourth.is_incident());
        assert_eq!(&*fourth.reason, "panic: overflow");
    }

    #[test]
    fn what_says_nothing_about_the_work_is_not_counted() {
        for (code, counts, is_ours) in [
            (Code::Conflict, false, false),
            (Code::StorageUnavailable, false, false),
            (Code::TooManyRequests, false, false),
            (Code::ServerError, true, true),
            (Code::StorageDamaged, true, true),
            (Code::NoComputeMemberForTag, true, false),
            (Code::WorkflowFailed, true, false),
        ] {
            let fault = Fault::Failed(Failure::new(code, "why"));
            assert_eq!(
                (fault.counts(), fault.is_ours()),
                (counts, is_ours),
                "{code:?}"
            );
        }
    }
}
