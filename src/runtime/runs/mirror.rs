//! Writing runs of sagas to the tables that show them outside (`runs.md` §7, *Mirror*).
//!
//! The commit of a run takes note of it, and what is here writes the run as it stands, again until
//! it is written. A run that was committed several times meanwhile is written once. Each table is
//! written by a task of its own, one row after the other, with connections of its own: no run
//! waits for it, and one that hangs delays no other.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::view::{instance_status, instance_step};
use crate::backoff::Backoff;
use crate::clock::Timestamp;
use crate::connector::{CallFailed, MirrorRow, MirrorTable};
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::{Program, Waiting};
use crate::registry::bundle::Mirror;
use crate::runtime::{Runtime, Session, again, incidents::contained};
use crate::shares::Shares;
use crate::storage::{MirrorName, RunName, StoredRun, ToMirror};

/// How long commits are gathered before a table is written: the short runs are written once.
const GATHER: Duration = Duration::from_millis(10);

/// How many runs are read at a time.
const PAGE: usize = 100;

/// How many tables of one tenant are written at once.
const OF_TENANT: usize = 4;

/// So many rows that the database refuses again in one pass are about the table, not about the rows.
const REFUSED_MAX: usize = 10;

/// The pauses after a failure.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const BACKOFF: Backoff = Backoff::new(PAUSE_FIRST, Duration::from_secs(30));

/// How long the one who applies a bundle waits for its table.
const MAKE_MAX: Duration = Duration::from_secs(5);

/// Where the writing of a table stands.
#[derive(Debug)]
struct MirrorProgress {
    /// The runs whose rows the database has refused, by their places. One that was committed again
    /// since is tried at once.
    refused: HashMap<Box<str>, Refused>,
    /// When the last pass began, how many there were, and how many rows it was refused again.
    began: Instant,
    passes: u64,
    refused_again: usize,
    /// Until when no refused row is tried again, because the table seems to refuse all of them.
    rests_until: Instant,
    rest: Backoff,
    /// The place of the last of them: those behind it come first after the rest.
    tried_to: Option<Box<str>>,
}

/// A row that the database has refused.
#[derive(Debug)]
struct Refused {
    run: ToMirror,
    again: Instant,
    pause: Backoff,
    /// The last pass that has met it.
    pass: u64,
}

/// What became of the runs of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// There is none.
    UpToDate,
    /// Each is written. More may have been committed meanwhile.
    Wrote,
    /// The database has refused some.
    Refused,
    /// The database cannot be reached.
    Unreachable,
}

impl MirrorProgress {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            refused: HashMap::new(),
            began: now,
            passes: 0,
            refused_again: 0,
            rests_until: now,
            rest: BACKOFF,
            tried_to: None,
        }
    }

    fn pass_begins(&mut self) {
        self.began = Instant::now();
        self.passes += 1;
        self.refused_again = 0;
    }

    /// Returns whether any row is still refused.
    fn pass_ends(&mut self) -> bool {
        // Other processes may have written them.
        self.refused.retain(|_, row| row.pass == self.passes);
        if self.began >= self.rests_until {
            self.tried_to = None;
        }
        !self.refused.is_empty()
    }

    /// Whether this pass writes a run.
    fn is_due(&mut self, run: &ToMirror) -> bool {
        let Some(row) = self.refused.get_mut(run.place()) else {
            return true;
        };
        if !row.run.is_as_committed(run) {
            self.refused.remove(run.place());
            return true;
        }
        row.pass = self.passes;
        let tried_to = self.tried_to.as_deref();
        row.again <= self.began
            && self.rests_until <= self.began
            && tried_to.is_none_or(|tried_to| run.place() > tried_to)
    }

    fn was_refused(&self, run: &ToMirror) -> bool {
        self.refused.contains_key(run.place())
    }

    /// Whether the table seems to refuse whatever was refused before.
    const fn is_resting(&self) -> bool {
        self.refused_again >= REFUSED_MAX
    }

    fn wrote(&mut self, run: &ToMirror) {
        if self.refused.remove(run.place()).is_some() {
            self.rest.reset();
        }
    }

    fn refuse(&mut self, run: ToMirror) {
        let now = Instant::now();
        if self.was_refused(&run) {
            self.refused_again += 1;
            if self.is_resting() {
                self.rests_until = now + self.rest.pause();
                self.tried_to = Some(run.place().into());
            }
        }
        let row = self.refused.entry(run.place().into());
        let row = row.or_insert_with(|| Refused {
            run,
            again: now,
            pause: BACKOFF,
            pass: self.passes,
        });
        row.again = now + row.pause.pause();
    }

    /// When the next refused row is tried again.
    fn next_try(&self) -> Instant {
        let next = self.refused.values().map(|row| row.again).min();
        self.rests_until.max(next.unwrap_or(self.began))
    }
}

/// What became of one run.
#[derive(Debug)]
enum Written {
    Yes,
    /// It is tried again, but others may be written.
    Refused(String),
    /// The database cannot be reached.
    Unreachable(String),
}

impl Runtime {
    /// Has a run written to the table of its bundle, if it has one, after the commit of a session.
    pub(super) async fn mirror_later(
        &self,
        session: &mut Session,
        tenant: &Tenant,
        name: &RunName,
        run: RunId,
        program: &Program,
    ) -> Result<(), Failure> {
        let Some(saga) = &program.saga else {
            return Ok(());
        };
        let (namespace, bundle) = (&name.namespace, &saga.bundle);
        let registry = &self.0.registry;
        if registry.has_mirror(tenant, namespace, bundle).await? {
            session.unit()?.mirror_run(namespace, bundle, run)?;
        }
        Ok(())
    }

    /// Makes the table of a bundle that was applied, if it is to be made. A failure is returned as
    /// a warning: the table is made with the first row, too.
    pub async fn make_mirror(
        &self,
        tenant: &Tenant,
        namespace: &str,
        bundle: &str,
    ) -> Option<String> {
        let found = self.0.registry.bundle(tenant, namespace, bundle).await;
        let digest = found.ok()?.digest;
        let mirror = self.0.registry.mirror(tenant, namespace, &digest).await;
        let mirror = mirror.ok()??;
        if !mirror.creates {
            return None;
        }
        let connectors = self.0.calls.connectors();
        let made = connectors.make_mirror(self.table(tenant, &mirror));
        let failure = match timeout(MAKE_MAX, made).await {
            Ok(Ok(())) => return None,
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => format!("no answer within {MAKE_MAX:?}"),
        };
        Some(format!(
            "the table {} of the connector {} could not be made, and is made when the first run is \
             written: {failure}",
            mirror.table, mirror.connector.name
        ))
    }

    fn table<'a>(&'a self, tenant: &'a Tenant, mirror: &'a Mirror) -> MirrorTable<'a> {
        MirrorTable {
            tenant,
            connector: &mirror.connector,
            table: &mirror.table,
            timeout: self.0.settings.runs.connectors_timeout,
            cancel: self.0.calls.stop(),
        }
    }

    /// Writes all tables that are behind, until `stop` is cancelled.
    pub async fn keep_mirrors(self, stop: CancellationToken) {
        let mut tasks: JoinSet<MirrorName> = JoinSet::new();
        // Of each that is written: whether more came since.
        let mut at_work: HashMap<MirrorName, Arc<Notify>> = HashMap::new();
        let shares = Shares::new(OF_TENANT);
        let mut nodes = self.storage().sharing();
        loop {
            let begun: HashSet<MirrorName> = tokio::select! {
                () = stop.cancelled() => return,
                now = self.nodes_changed(&nodes) => {
                    match self.storage().find_mirrors().await {
                        Ok(()) => nodes = now,
                        Err(error) => {
                            warn!(%error, "the tables of other processes that show runs are looked for again");
                            sleep(PAUSE_FIRST).await;
                        }
                    }
                    continue;
                }
                () = self.storage().mirrors_changed() => self.storage().take_mirrors(),
                Some(ended) = tasks.join_next(), if !tasks.is_empty() => match ended {
                    Ok(name) => {
                        let more = at_work.remove(&name);
                        let since = more.and_then(|more| more.notified().now_or_never());
                        let is_behind = since.is_some();
                        is_behind.then_some(name).into_iter().collect()
                    }
                    // Panics are contained.
                    Err(_) => continue,
                },
            };
            for name in begun {
                if let Some(more) = at_work.get(&name) {
                    more.notify_one();
                    continue;
                }
                let more = Arc::new(Notify::new());
                at_work.insert(name.clone(), Arc::clone(&more));
                let share = shares.of(name.tenant.clone());
                let runtime = self.clone();
                tasks.spawn(async move {
                    Box::pin(runtime.write_mirror(&name, &share, &more)).await;
                    name
                });
            }
        }
    }

    /// Writes the runs of a table until all are written. A row that the database refuses has its own
    /// pause, which those that are committed meanwhile do not wait for.
    async fn write_mirror(&self, name: &MirrorName, turns: &Semaphore, more: &Notify) {
        let mut at = MirrorProgress::new();
        let mut backoff = BACKOFF;
        let mut was_behind = false;
        loop {
            sleep(GATHER).await;
            match contained(Box::pin(self.write_pass(name, turns, &mut at))).await {
                Ok(Pass::UpToDate) => break,
                Ok(Pass::Wrote) => backoff.reset(),
                Ok(Pass::Refused) => {
                    backoff.reset();
                    was_behind = true;
                    tokio::select! {
                        () = sleep_until(at.next_try()) => {}
                        () = more.notified() => {}
                    }
                }
                Ok(Pass::Unreachable) => {
                    was_behind = true;
                    backoff.wait().await;
                }
                Err(fault) => {
                    let failure = fault.into_failure();
                    let (failure, tenant) = (failure.in_full(), name.tenant.as_str());
                    warn!(%failure, tenant, "a table that shows runs could not be written");
                    was_behind = true;
                    backoff.wait().await;
                }
            }
        }
        if was_behind {
            let (tenant, namespace) = (name.tenant.as_str(), &*name.namespace);
            info!(
                tenant,
                namespace, "a table that shows runs is up to date again"
            );
        }
    }

    /// Writes the runs of a table, but those whose pause is not over.
    async fn write_pass(
        &self,
        name: &MirrorName,
        turns: &Semaphore,
        at: &mut MirrorProgress,
    ) -> Result<Pass, Failure> {
        let (tenant, namespace) = (&name.tenant, &name.namespace);
        let mirror = self.0.registry.mirror(tenant, namespace, &name.bundle);
        let mirror = mirror.await?;
        at.pass_begins();
        let mut after: Option<String> = None;
        loop {
            let page = self.storage().to_mirror(name, after.as_deref(), PAGE);
            let mut page = page.await?;
            let Some(last) = page.last() else {
                return Ok(match (after, at.pass_ends()) {
                    (None, _) => Pass::UpToDate,
                    (Some(_), false) => Pass::Wrote,
                    (Some(_), true) => Pass::Refused,
                });
            };
            after = Some(last.place().to_owned());
            page.retain(|run| at.is_due(run));
            if page.is_empty() {
                continue;
            }
            // What is written is at least as new as the records say.
            self.storage().refresh().await?;
            let turn = turns.acquire().await;
            let written = self.write_page(tenant, mirror.as_ref(), page, at).await;
            drop(turn);
            let (written, is_reachable) = written?;
            self.note_mirrored(tenant, &written).await?;
            if !is_reachable {
                return Ok(Pass::Unreachable);
            }
            if written.is_empty() {
                // It may be about the table: the next page is not refused as fast as it is read.
                sleep(PAUSE_FIRST).await;
            }
        }
    }

    /// Writes these runs. Returns those that are written, and whether the database can be reached.
    async fn write_page(
        &self,
        tenant: &Tenant,
        mirror: Option<&Mirror>,
        page: Vec<ToMirror>,
        at: &mut MirrorProgress,
    ) -> Result<(Vec<ToMirror>, bool), Failure> {
        let mut written = Vec::with_capacity(page.len());
        for run in page {
            if at.is_resting() && at.was_refused(&run) {
                continue;
            }
            let outcome = match mirror {
                Some(mirror) => self.write_row(tenant, mirror, run.run).await?,
                // Nothing is known of its bundle any more.
                None => Written::Yes,
            };
            let (reason, is_refused) = match outcome {
                Written::Yes => {
                    at.wrote(&run);
                    written.push(run);
                    continue;
                }
                Written::Refused(reason) => (reason, true),
                Written::Unreachable(reason) => (reason, false),
            };
            warn!(
                tenant = tenant.as_str(), run.id = %run.run, reason,
                "a run could not be written to the table that shows runs; trying again"
            );
            if !is_refused {
                return Ok((written, false));
            }
            at.refuse(run);
        }
        Ok((written, true))
    }

    /// Writes a run as it stands. One that is not there any more stays in the table as it was.
    async fn write_row(
        &self,
        tenant: &Tenant,
        mirror: &Mirror,
        run: RunId,
    ) -> Result<Written, Failure> {
        let Some(stored) = self.storage().run(tenant, run).await? else {
            warn!(
                tenant = tenant.as_str(), run.id = %run,
                "a run was removed before the table that shows runs had its end"
            );
            return Ok(Written::Yes);
        };
        let shown = match self.shown_outside(tenant, &stored).await {
            Ok(shown) => shown,
            Err(failure) if failure.code() == Code::ServerError => {
                return Ok(Written::Refused(failure.in_full()));
            }
            Err(failure) => return Err(failure),
        };
        let table = self.table(tenant, mirror);
        let connectors = self.0.calls.connectors();
        let row = shown.row();
        Ok(match connectors.mirror(table, mirror.creates, &row).await {
            Ok(()) => Written::Yes,
            Err(failure @ CallFailed::Failed { .. }) => Written::Refused(failure.to_string()),
            Err(failure) => Written::Unreachable(failure.to_string()),
        })
    }

    /// Takes note of runs that were written, but those that were committed again since.
    async fn note_mirrored(&self, tenant: &Tenant, written: &[ToMirror]) -> Result<(), Failure> {
        if written.is_empty() {
            return Ok(());
        }
        let note = || async {
            let (by, mut session) = self.own_session(tenant);
            let unit = session.unit()?;
            for run in written {
                unit.mirrored(run).await?;
            }
            session.finish(&by.cancel).await
        };
        again(note).await
    }

    /// A run in the words of the table.
    async fn shown_outside(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
    ) -> Result<ShownOutside, Failure> {
        let state = self.0.parsed.read(stored)?;
        let run = &state.run;
        let program = self.program_of(tenant, &stored.name, &state.digest).await?;
        let (Some(form), Some(saga)) = (&program.saga, &run.saga) else {
            return Err(Failure::internal(format!("run {} is not a saga", run.id)));
        };
        let mut results = String::from("{");
        for name in &form.order {
            let result = run.results.get(name);
            if let Some(result) = result.filter(|result| *result.outcome == *"success") {
                let sign = if results.len() > 1 { "," } else { "" };
                let output = self.shown_value(stored.id, &result.output).await?;
                let _ = write!(results, "{sign}{}:{output}", crate::expr::quoted(name));
            }
        }
        results.push('}');
        let signal = match &saga.signal {
            Some(signal) => Some(self.shown_value(stored.id, signal).await?),
            None => None,
        };
        let (mut resume_at, mut awaited, mut step_expires_at) = (None, None, None);
        match &run.waiting {
            Some(Waiting::Timer { until, .. }) => resume_at = Some(until.to_string()),
            Some(Waiting::Signal { kind, until }) => {
                awaited = Some(kind.clone());
                step_expires_at = until.as_ref().map(Timestamp::to_string);
            }
            Some(Waiting::Task { .. } | Waiting::Child { .. } | Waiting::Entity { .. }) | None => {}
        }
        Ok(ShownOutside {
            id: run.id.clone(),
            saga: Arc::clone(&stored.name.name),
            status: instance_status(run),
            at: instance_step(saga.at, run, &program, &form.order),
            input: self.shown_value(stored.id, &run.input).await?,
            results,
            signal,
            resume_at,
            awaited,
            expires_at: saga.deadline.as_ref().map(Timestamp::to_string),
            step_expires_at,
            error: run.error.as_ref().map(|error| error.message.clone()),
            created_at: run.created.to_string(),
            updated_at: self
                .last_event_at(stored.id, run.sequence)
                .await?
                .to_string(),
        })
    }
}

/// A run in the words of the table.
#[derive(Debug)]
struct ShownOutside {
    id: Box<str>,
    saga: Arc<str>,
    status: &'static str,
    at: usize,
    input: Arc<str>,
    /// A JSON object.
    results: String,
    signal: Option<Arc<str>>,
    resume_at: Option<String>,
    awaited: Option<Box<str>>,
    expires_at: Option<String>,
    step_expires_at: Option<String>,
    error: Option<Box<str>>,
    created_at: String,
    updated_at: String,
}

impl ShownOutside {
    fn row(&self) -> MirrorRow<'_> {
        MirrorRow {
            id: &self.id,
            saga_name: &self.saga,
            status: self.status,
            current_step: self.at,
            input: &self.input,
            step_results: &self.results,
            signal_data: self.signal.as_deref(),
            resume_at: self.resume_at.as_deref(),
            await_event: self.awaited.as_deref(),
            expires_at: self.expires_at.as_deref(),
            step_expires_at: self.step_expires_at.as_deref(),
            error: self.error.as_deref(),
            created_at: &self.created_at,
            updated_at: &self.updated_at,
        }
    }
}
