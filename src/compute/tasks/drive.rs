//! What of the channels waits: timers, and reports to who started the tasks.

use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::{
    Channels,
    answer::PENDING,
    desk::Job,
    spec::{End, Ends, Reported, TaskKind},
    untaken::Warned,
};
use crate::backoff::Backoff;
use crate::error::Failure;
use crate::id::Tenant;
use crate::program::Answer;
use crate::telemetry::measure;

/// How many reports of one tenant are stored at once; further ones wait, and hold up only theirs.
const REPORTS_MAX: usize = 256;

/// The pauses between the attempts to store a report, the first and the longest.
const AGAIN_FIRST: Duration = Duration::from_millis(50);
const BACKOFF: Backoff = Backoff::new(AGAIN_FIRST, Duration::from_secs(30));

/// How often the numbers of open tasks are measured.
const MEASURED_EVERY: Duration = Duration::from_secs(5);

/// How long what was reported before the end may take to be stored.
const LAST: Duration = Duration::from_secs(1);

/// The reports of one tenant.
#[derive(Default)]
struct Line {
    at_work: usize,
    waiting: VecDeque<Job>,
}

/// The jobs of all tenants.
struct JobLines {
    channels: Channels,
    ends: Arc<dyn Ends>,
    by_tenant: HashMap<Tenant, Line>,
    at_work: JoinSet<Tenant>,
}

impl JobLines {
    fn take(&mut self, job: Job) {
        let line = self.by_tenant.entry(job.tenant().clone()).or_default();
        if line.at_work < REPORTS_MAX {
            line.at_work += 1;
            self.begin(job);
        } else {
            line.waiting.push_back(job);
        }
    }

    fn begin(&mut self, job: Job) {
        let (channels, ends) = (self.channels.clone(), Arc::clone(&self.ends));
        let tenant = job.tenant().clone();
        // A panic, which is logged, must not take one of the places of the tenant with it.
        let performed = AssertUnwindSafe(perform(channels, ends, job)).catch_unwind();
        self.at_work.spawn(performed.map(|_| tenant));
    }

    /// A job of a tenant is done.
    fn done(&mut self, tenant: &Tenant) {
        let Some(line) = self.by_tenant.get_mut(tenant) else {
            return;
        };
        if let Some(job) = line.waiting.pop_front() {
            self.begin(job);
            return;
        }
        line.at_work -= 1;
        if line.at_work == 0 {
            self.by_tenant.remove(tenant);
        }
    }

    /// Does all that is left.
    async fn finish(&mut self, jobs: &mut mpsc::UnboundedReceiver<Job>) {
        while let Ok(job) = jobs.try_recv() {
            self.take(job);
        }
        while let Some(joined) = self.at_work.join_next().await {
            if let Ok(tenant) = joined {
                self.done(&tenant);
            }
            while let Ok(job) = jobs.try_recv() {
                self.take(job);
            }
        }
    }
}

/// Runs until `end`: fires timers until the process stops, reports ends, loads tasks.
pub(super) async fn run(
    channels: Channels,
    mut jobs: mpsc::UnboundedReceiver<Job>,
    ends: Arc<dyn Ends>,
    end: CancellationToken,
) {
    let stop = channels.lock().desk.stop.clone();
    let mut lines = JobLines {
        channels: channels.clone(),
        ends,
        by_tenant: HashMap::new(),
        at_work: JoinSet::new(),
    };
    let mut measured = tokio::time::interval(MEASURED_EVERY);
    let mut warned = Warned::default();
    loop {
        let due = channels.due();
        let timer = async {
            match due {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = end.cancelled() => break,
            job = jobs.recv() => match job {
                Some(job) => lines.take(job),
                None => return,
            },
            Some(Ok(tenant)) = lines.at_work.join_next() => lines.done(&tenant),
            () = timer, if !stop.is_cancelled() => channels.fire(),
            () = channels.earlier() => {}
            _ = measured.tick() => {
                channels.measure();
                channels.warn_of_untaken(&mut warned);
            }
        }
    }
    // Reports from here on are refused.
    jobs.close();
    let finished = timeout(LAST, lines.finish(&mut jobs)).await;
    if finished.is_err() {
        let waiting = lines.by_tenant.into_values();
        let waiting = waiting.flat_map(|line| line.waiting);
        waiting.for_each(Job::refuse);
    }
}

impl Job {
    const fn tenant(&self) -> &Tenant {
        match self {
            Self::Report { tenant, .. }
            | Self::Keep { tenant, .. }
            | Self::Load { tenant, .. }
            | Self::Late { tenant, .. }
            | Self::Left { tenant, .. }
            | Self::Discard { tenant, .. } => tenant,
        }
    }
}

/// Performs a job.
async fn perform(channels: Channels, ends: Arc<dyn Ends>, job: Job) {
    match job {
        Job::Report {
            tenant,
            task,
            end,
            asked: Some(asked),
        } => {
            stored(&channels, &tenant, &task).await;
            if let Some(kind) = channels.kind(&tenant, &task) {
                count(kind, &end);
            }
            let reported = ended(&*ends, &tenant, &task, end).await;
            channels.settled(&tenant, &task, reported.as_ref().ok().copied());
            // The caller may be gone.
            let _ = asked.send(reported);
        }
        Job::Report {
            tenant, task, end, ..
        } => {
            stored(&channels, &tenant, &task).await;
            if let Some(kind) = channels.kind(&tenant, &task) {
                count(kind, &end);
            }
            let reported = report(&*ends, &tenant, &task, &end).await;
            channels.settled(&tenant, &task, Some(reported));
        }
        Job::Keep {
            tenant,
            task,
            used,
            stored: _stored,
        } => {
            let mut next = Some(used);
            while let Some(used) = next {
                // What waits for it would wait for ever after a panic, which is logged.
                let keeping = AssertUnwindSafe(ends.keep(&tenant, &task, used));
                let _ = keeping.catch_unwind().await;
                next = channels.kept(&tenant, &task);
            }
        }
        Job::Load { tenant, task } => {
            let loaded = ends.load(&tenant, &task).await;
            if let Err(failure) = &loaded {
                log(&task, failure);
            }
            channels.loaded(&tenant, &task, loaded);
        }
        Job::Late { tenant, task, end } => {
            // It comes after an end that may not be stored yet; before that it would count.
            while channels.is_reporting(&tenant, &task) {
                sleep(AGAIN_FIRST).await;
            }
            if let Err(failure) = ended(&*ends, &tenant, &task, end).await {
                log(&task, &failure);
            }
        }
        Job::Left { tenant, task } => ends.left(&tenant, &task).await,
        Job::Discard {
            tenant,
            task,
            attempt,
        } => ends.discard(&tenant, &task, attempt),
    }
}

/// Waits until what a task has used up is stored: an end that is committed meanwhile would meet a
/// conflict, and the task would be done again.
async fn stored(channels: &Channels, tenant: &Tenant, task: &Arc<str>) {
    while channels.is_keeping(tenant, task) {
        sleep(AGAIN_FIRST).await;
    }
}

/// Reports an end; a panic is a failure.
async fn ended(
    ends: &dyn Ends,
    tenant: &Tenant,
    task: &str,
    end: End,
) -> Result<Reported, Failure> {
    let reported = AssertUnwindSafe(ends.ended(tenant, task, end));
    let caught = reported.catch_unwind().await;
    caught.unwrap_or_else(|_| {
        Err(Failure::internal(
            "panic while the end of a task was stored",
        ))
    })
}

/// Reports an end until it is stored.
async fn report(ends: &dyn Ends, tenant: &Tenant, task: &str, end: &End) -> Reported {
    let mut backoff = BACKOFF;
    loop {
        match ended(ends, tenant, task, end.clone()).await {
            Ok(reported) => return reported,
            Err(failure) => log(task, &failure),
        }
        // If nobody wants it any more, it is sent again when somebody does.
        let Some(rest) = ends.again(tenant, task, backoff.pause()).await else {
            return Reported::Unknown;
        };
        sleep(rest).await;
    }
}

fn log(task: &str, failure: &Failure) {
    match failure.internal_cause() {
        Some((ticket, cause)) => {
            error!(task.id = task, %ticket, cause, "the end of a task could not be stored; it is tried again");
        }
        None => {
            warn!(task.id = task, %failure, "the end of a task could not be stored; it is tried again");
        }
    }
}

/// Counts an end by kind and outcome. A task that answered `pending` has not ended.
pub(super) fn count(kind: TaskKind, end: &End) {
    let outcome = match &end.answer {
        Answer::Outcome { outcome, .. } if &**outcome == PENDING => return,
        Answer::Outcome { outcome, .. } => outcome,
        Answer::Deadline => "timeout",
        Answer::Lost { .. } => "execution_failure",
    };
    measure::task_finished(kind.as_str(), outcome);
}

impl Channels {
    /// Does what is due.
    fn fire(&self) {
        let now = Instant::now();
        loop {
            // The lock is given back between two, so that nobody waits for all of them.
            let mut state = self.lock();
            if state.desk.stop.is_cancelled() {
                return;
            }
            let Some((tenant, task)) = state.desk.take_due(now) else {
                return;
            };
            state.with(&tenant, |pool, desk| pool.due(desk, &task));
        }
    }

    fn due(&self) -> Option<Instant> {
        self.lock().desk.due()
    }

    fn settled(&self, tenant: &Tenant, task: &Arc<str>, reported: Option<Reported>) {
        self.with(tenant, |pool, desk| pool.settled(desk, task, reported));
    }

    fn loaded(
        &self,
        tenant: &Tenant,
        task: &Arc<str>,
        loaded: Result<Option<super::TaskSpec>, Failure>,
    ) {
        self.with(tenant, |pool, desk| pool.loaded(desk, task, loaded));
    }

    fn kind(&self, tenant: &Tenant, task: &str) -> Option<TaskKind> {
        let state = self.lock();
        let pool = state.pools.get(tenant)?;
        pool.kind(task)
    }

    /// Whether the end of a task is being stored.
    fn is_reporting(&self, tenant: &Tenant, task: &str) -> bool {
        let state = self.lock();
        let pool = state.pools.get(tenant);
        pool.is_some_and(|pool| pool.is_reporting(task))
    }

    fn measure(&self) {
        let state = self.lock();
        let counts = state.pools.values().map(super::pool::Pool::counts);
        let (pending, running) = counts.fold((0, 0), |(pending, running), counts| {
            (pending + counts.0, running + counts.1)
        });
        drop(state);
        measure::tasks_open(pending, running);
    }
}
