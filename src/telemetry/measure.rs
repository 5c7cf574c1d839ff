//! Metrics: the only place that names one (`config-and-cli.md` §11).
//!
//! Handles are made once, so that measuring is a few atomic operations without a look-up. No label
//! names an entity, a model or a tenant, so the number of series stays small. Without a recorder,
//! as in most tests, the handles do nothing.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;

use super::described::describe;

pub(super) const TX_DURATION: &str = "cyoda_tx_duration_seconds";
pub(super) const TX_ACTIVE: &str = "cyoda_tx_active";
pub(super) const TX_CONFLICTS: &str = "cyoda_tx_conflicts_total";
pub(super) const DISPATCH_DURATION: &str = "cyoda_dispatch_duration_seconds";
pub(super) const DISPATCH_COUNT: &str = "cyoda_dispatch_count_total";
pub(super) const OPERATION_DURATION: &str = "interlock_operation_duration_seconds";
pub(super) const OPERATION_FAILURES: &str = "interlock_operation_failures_total";
pub(super) const SEARCH_INDEXES: &str = "interlock_search_indexes";
pub(super) const SCHEDULE_FIRES: &str = "interlock_schedule_fires_total";
pub(super) const ADAPTIVE_INDEXES: &str = "interlock_adaptive_indexes_total";
pub(super) const HANDSHAKES: &str = "interlock_tls_handshakes_total";
pub(super) const CONNECTIONS: &str = "interlock_connections";
pub(super) const CONNECTIONS_ENDED: &str = "interlock_connections_ended_total";
pub(super) const TENANT_REFUSALS: &str = "interlock_tenant_limit_refusals_total";
pub(super) const TOKEN_REFUSALS: &str = "interlock_token_refusals_total";
pub(super) const STORAGE_DAMAGE: &str = "interlock_storage_damage_total";
pub(super) const EXPENSIVE_WORK: &str = "interlock_expensive_work_running";
pub(super) const PANICS: &str = "interlock_panics_total";
pub(super) const LINES_DROPPED: &str = "interlock_log_lines_dropped_total";
pub(super) const COMMIT_TIME_AHEAD: &str = "interlock_commit_time_ahead_seconds";
pub(super) const RUNS_STARTED: &str = "interlock_runs_started_total";
pub(super) const RUNS_FINISHED: &str = "interlock_runs_finished_total";
pub(super) const POSITIONS_LOST: &str = "interlock_positions_lost_total";
pub(super) const COMPENSATIONS: &str = "interlock_compensations_total";
pub(super) const RUNS_OPEN: &str = "interlock_runs_open";
pub(super) const RUN_TIMER_LATENESS: &str = "interlock_run_timer_lateness_seconds";
pub(super) const INCIDENTS_OPEN: &str = "interlock_incidents_open";
pub(super) const TASKS_FINISHED: &str = "interlock_tasks_finished_total";
pub(super) const TASKS_OPEN: &str = "interlock_tasks_open";
pub(super) const CONNECTOR_DURATION: &str = "interlock_connector_duration_seconds";
pub(super) const MANAGER_TICK_DURATION: &str = "interlock_manager_tick_duration_seconds";
pub(super) const MANAGERS_READ: &str = "interlock_managers_read_total";
pub(super) const WORKERS: &str = "interlock_runtime_workers";
pub(super) const ALIVE_TASKS: &str = "interlock_runtime_alive_tasks";
pub(super) const QUEUE_DEPTH: &str = "interlock_runtime_global_queue_depth";

/// The bounds of all histograms, in seconds: from a cached read to a slow member.
const BOUNDS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 30.0,
];

/// How often histograms are summarized, so that samples do not accumulate until the next scrape.
const UPKEEP: Duration = Duration::from_secs(5);

static TRANSACTIONS: LazyLock<Transactions> = LazyLock::new(|| Transactions {
    begin: histogram!(TX_DURATION, "op" => "begin"),
    commit: histogram!(TX_DURATION, "op" => "commit"),
    rollback: histogram!(TX_DURATION, "op" => "rollback"),
    active: gauge!(TX_ACTIVE),
    conflicts: counter!(TX_CONFLICTS),
});

static DISPATCHES: LazyLock<[Dispatches; 3]> = LazyLock::new(|| {
    ["processor", "criteria", "schedule"].map(|kind| Dispatches {
        duration: histogram!(DISPATCH_DURATION, "type" => kind),
        count: counter!(DISPATCH_COUNT, "type" => kind),
    })
});

struct Transactions {
    begin: Histogram,
    commit: Histogram,
    rollback: Histogram,
    active: Gauge,
    conflicts: Counter,
}

struct Dispatches {
    duration: Histogram,
    count: Counter,
}

/// A step of a transaction.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Begin,
    Commit,
    Rollback,
}

impl Step {
    /// Records a step that began at an instant and ends now.
    pub fn since(self, begun: Instant) {
        let histogram = match self {
            Self::Begin => &TRANSACTIONS.begin,
            Self::Commit => &TRANSACTIONS.commit,
            Self::Rollback => &TRANSACTIONS.rollback,
        };
        histogram.record(begun.elapsed());
    }
}

/// A transaction that is open until this is dropped.
#[derive(Debug)]
pub struct Open(());

impl Open {
    pub fn new() -> Self {
        TRANSACTIONS.active.increment(1.0);
        Self(())
    }
}

impl Default for Open {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        TRANSACTIONS.active.decrement(1.0);
    }
}

/// Counts an aborted transaction.
pub fn conflicted() {
    TRANSACTIONS.conflicts.increment(1);
}

/// The kind of a call to a member.
#[derive(Debug, Clone, Copy)]
pub enum Call {
    Processor,
    Criterion,
    Schedule,
}

impl Call {
    /// Records a call that began at an instant and ends now.
    pub fn since(self, begun: Instant) {
        let dispatches = &DISPATCHES[self as usize];
        dispatches.count.increment(1);
        dispatches.duration.record(begun.elapsed());
    }
}

/// The duration of operations of one type, until their answer begins.
#[derive(Debug)]
pub struct Operations {
    kind: &'static str,
    duration: Histogram,
}

impl Operations {
    pub fn of(kind: &'static str) -> Self {
        Self {
            kind,
            duration: histogram!(OPERATION_DURATION, "type" => kind),
        }
    }

    pub fn since(&self, begun: Instant) {
        self.duration.record(begun.elapsed());
    }

    /// Counts a failure by code; there are few codes.
    pub fn failed(&self, code: &'static str) {
        counter!(OPERATION_FAILURES, "type" => self.kind, "code" => code).increment(1);
    }
}

/// An event in the life of an adaptive index.
#[derive(Debug, Clone, Copy)]
pub enum Adaptive {
    Made,
    Ready,
    Dropped,
}

impl Adaptive {
    const ALL: [Self; 3] = [Self::Made, Self::Ready, Self::Dropped];

    /// Counts the event.
    pub fn count(self) {
        self.counter().increment(1);
    }

    fn counter(self) -> Counter {
        let event = match self {
            Self::Made => "made",
            Self::Ready => "ready",
            Self::Dropped => "dropped",
        };
        counter!(ADAPTIVE_INDEXES, "event" => event)
    }
}

/// What became of a planned instant of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fire {
    Started,
    /// Too many runs of the schedule were live.
    Skipped,
    Failed,
}

impl Fire {
    const ALL: [Self; 3] = [Self::Started, Self::Skipped, Self::Failed];

    /// Counts it.
    pub fn count(self) {
        self.counter().increment(1);
    }

    fn counter(self) -> Counter {
        let result = match self {
            Self::Started => "started",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        };
        counter!(SCHEDULE_FIRES, "result" => result)
    }
}

/// Sets the numbers of declared and of adaptive indexes.
pub fn indexes(declared: usize, adaptive: usize) {
    for (kind, count) in [("declared", declared), ("adaptive", adaptive)] {
        gauge!(SEARCH_INDEXES, "kind" => kind).set(u32::try_from(count).unwrap_or(u32::MAX));
    }
}

/// How a TLS handshake ended.
#[derive(Debug, Clone, Copy)]
pub enum Handshake {
    Done,
    Failed,
    TooSlow,
    /// It was abandoned for a newer one, because there were too many.
    Displaced,
}

impl Handshake {
    const ALL: [Self; 4] = [Self::Done, Self::Failed, Self::TooSlow, Self::Displaced];

    /// Counts a handshake that ended this way.
    pub fn count(self) {
        self.counter().increment(1);
    }

    fn counter(self) -> Counter {
        let outcome = match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::TooSlow => "too_slow",
            Self::Displaced => "displaced",
        };
        counter!(HANDSHAKES, "outcome" => outcome)
    }
}

/// A port with connections.
#[derive(Debug, Clone, Copy)]
pub enum Port {
    Rest,
    Grpc,
    Admin,
}

/// Changes the number of connections of a port.
pub fn connections(port: Port, more: f64) {
    static GAUGES: LazyLock<[Gauge; 3]> =
        LazyLock::new(|| ["rest", "grpc", "admin"].map(|port| gauge!(CONNECTIONS, "port" => port)));
    GAUGES[port as usize].increment(more);
}

/// Why the server ended a connection or a request.
#[derive(Debug, Clone, Copy)]
pub enum Closed {
    /// It had no open request for too long.
    Idle,
    /// The head of a request, or the HTTP/2 preface, did not arrive in time.
    HalfRequest,
    /// A body did not arrive fast enough.
    SlowBody,
    /// Its peer did not read an answer.
    Unread,
    /// It was idle, and was closed to make room for another.
    Displaced,
    /// There was no room for it.
    Refused,
    /// There was no room for the bytes of a request.
    NoRoom,
}

impl Closed {
    const ALL: [Self; 7] = [
        Self::Idle,
        Self::HalfRequest,
        Self::SlowBody,
        Self::Unread,
        Self::Displaced,
        Self::Refused,
        Self::NoRoom,
    ];

    /// Counts a connection or request that ended for this reason.
    pub fn count(self) {
        self.counter().increment(1);
    }

    fn counter(self) -> Counter {
        let reason = match self {
            Self::Idle => "idle",
            Self::HalfRequest => "half_request",
            Self::SlowBody => "slow_body",
            Self::Unread => "unread_answer",
            Self::Displaced => "displaced",
            Self::Refused => "refused",
            Self::NoRoom => "receiving_bytes",
        };
        counter!(CONNECTIONS_ENDED, "reason" => reason)
    }
}

/// Work that runs on separate threads.
#[derive(Debug, Clone, Copy)]
pub enum Expensive {
    /// Parsing conditions and compiling patterns.
    Reading,
    /// Evaluating entities.
    Evaluating,
    /// Executing WebAssembly modules.
    Modules,
}

/// A piece of such work, until this is dropped.
#[derive(Debug)]
pub struct Running(Gauge);

impl Expensive {
    const ALL: [Self; 3] = [Self::Reading, Self::Evaluating, Self::Modules];

    /// Counts a piece of work that begins now.
    pub fn begin(self) -> Running {
        let gauge = self.gauge();
        gauge.increment(1.0);
        Running(gauge)
    }

    fn gauge(self) -> Gauge {
        let kind = match self {
            Self::Reading => "reading",
            Self::Evaluating => "evaluating",
            Self::Modules => "modules",
        };
        gauge!(EXPENSIVE_WORK, "kind" => kind)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

/// A limit of tenants.
#[derive(Debug, Clone, Copy)]
pub enum Limited {
    RequestsPerSecond,
    InFlight,
    StoredBytes,
}

impl Limited {
    const ALL: [Self; 3] = [Self::RequestsPerSecond, Self::InFlight, Self::StoredBytes];

    /// Counts a request that was rejected because of it.
    pub fn refused(self) {
        self.counter().increment(1);
    }

    fn counter(self) -> Counter {
        let limit = match self {
            Self::RequestsPerSecond => "requests_per_second",
            Self::InFlight => "in_flight",
            Self::StoredBytes => "stored_bytes",
        };
        counter!(TENANT_REFUSALS, "limit" => limit)
    }
}

/// Counts a token request that was refused.
pub fn token_refused(reason: &'static str) {
    counter!(TOKEN_REFUSALS, "reason" => reason).increment(1);
}

/// Counts a task that ended, by the kind of the task and its outcome.
pub fn task_finished(kind: &'static str, outcome: &str) {
    const KNOWN: [&str; 5] = [
        "success",
        "failure",
        "timeout",
        "cancelled",
        "execution_failure",
    ];
    // Outcomes of their own are of no bounded number.
    let known = KNOWN.into_iter().find(|known| *known == outcome);
    counter!(TASKS_FINISHED, "kind" => kind, "outcome" => known.unwrap_or("other")).increment(1);
}

/// Sets how many tasks wait, and how many are with a member or worker.
pub fn tasks_open(pending: usize, running: usize) {
    for (status, count) in [("pending", pending), ("running", running)] {
        gauge!(TASKS_OPEN, "status" => status).set(u32::try_from(count).unwrap_or(u32::MAX));
    }
}

/// How the call of a connector ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectorResult {
    Success,
    Failed,
    Unavailable,
    TimedOut,
    Cancelled,
}

/// Records how long a call of a connector of this type took.
pub fn connector_called(kind: &'static str, begun: Instant, result: ConnectorResult) {
    let result = match result {
        ConnectorResult::Success => "success",
        ConnectorResult::Failed => "failed",
        ConnectorResult::Unavailable => "unavailable",
        ConnectorResult::TimedOut => "timed_out",
        ConnectorResult::Cancelled => "cancelled",
    };
    histogram!(CONNECTOR_DURATION, "type" => kind, "result" => result).record(begun.elapsed());
}

/// Counts a manager that a tick reads, because something has changed since one had nothing to write.
pub fn manager_read() {
    counter!(MANAGERS_READ).increment(1);
}

/// Measures a tick of the managers of a namespace.
pub fn managers_ticked(begun: Instant) {
    histogram!(MANAGER_TICK_DURATION).record(begun.elapsed());
}

/// Counts a run that was committed, by its kind and what started it.
pub fn run_started(kind: &'static str, by: &'static str) {
    counter!(RUNS_STARTED, "kind" => kind, "by" => by).increment(1);
}

/// Counts a run whose end was committed, by its kind and status.
pub fn run_finished(kind: &'static str, status: &'static str) {
    counter!(RUNS_FINISHED, "kind" => kind, "status" => status).increment(1);
}

/// Counts compensations of sagas whose end was committed.
pub fn compensated(result: &'static str, count: u32) {
    if count > 0 {
        counter!(COMPENSATIONS, "result" => result).increment(count.into());
    }
}

/// Counts positions that a database server had acknowledged and another one lacks.
pub fn positions_lost(count: u64) {
    counter!(POSITIONS_LOST).increment(count);
}

/// Sets how many runs have not ended: pending, running and waiting ones.
pub fn runs_open(counts: [u64; 3]) {
    static GAUGES: LazyLock<[Gauge; 3]> = LazyLock::new(|| {
        ["pending", "running", "waiting"].map(|status| gauge!(RUNS_OPEN, "status" => status))
    });
    for (gauge, count) in GAUGES.iter().zip(counts) {
        gauge.set(u32::try_from(count).unwrap_or(u32::MAX));
    }
}

/// Records how late a run was looked at whose time had come.
pub fn run_timer_late(by: Duration) {
    static LATENESS: LazyLock<Histogram> = LazyLock::new(|| histogram!(RUN_TIMER_LATENESS));
    LATENESS.record(by);
}

/// What an incident is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IncidentKind {
    Run,
    Timer,
    Producer,
}

impl IncidentKind {
    pub const ALL: [Self; 3] = [Self::Run, Self::Timer, Self::Producer];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Timer => "timer",
            Self::Producer => "producer",
        }
    }
}

/// Changes the number of incidents that wait for an operator.
pub fn incidents_open(kind: IncidentKind, more: f64) {
    gauge!(INCIDENTS_OPEN, "kind" => kind.as_str()).increment(more);
}

/// Counts a panic.
pub(super) fn panicked() {
    counter!(PANICS).increment(1);
}

/// Counts lines that are missing in the log.
pub(super) fn lines_dropped(count: u64) {
    counter!(LINES_DROPPED).increment(count);
}

/// Sets by how much the time of the newest commit was ahead of the clock.
pub fn commit_time_ahead(ahead: Duration) {
    static GAUGE: LazyLock<Gauge> = LazyLock::new(|| gauge!(COMMIT_TIME_AHEAD));
    GAUGE.set(ahead);
}

/// Counts a read that met a damaged page.
pub fn damaged() {
    counter!(STORAGE_DAMAGE).increment(1);
}

/// Returns metrics in the Prometheus text format.
#[derive(Debug, Clone)]
pub struct Exporter {
    handle: PrometheusHandle,
    process: Collector,
}

impl Exporter {
    pub(super) fn start() -> Self {
        // The bounds are set, so this does not fail; without them there would be quantiles.
        let builder = PrometheusBuilder::new()
            .set_buckets(BOUNDS)
            .unwrap_or_default();
        let recorder = builder.build_recorder();
        let exporter = Self {
            handle: recorder.handle(),
            process: Collector::default(),
        };
        // A second start, as in tests, keeps the first.
        if metrics::set_global_recorder(recorder).is_ok() {
            describe();
            exporter.process.describe();
            LazyLock::force(&TRANSACTIONS);
            LazyLock::force(&DISPATCHES);
            for name in [
                PANICS,
                LINES_DROPPED,
                STORAGE_DAMAGE,
                POSITIONS_LOST,
                MANAGERS_READ,
            ] {
                counter!(name).absolute(0);
            }
            commit_time_ahead(Duration::ZERO);
            for reason in [
                "invalid_client",
                "too_many_failures",
                "busy",
                "untrusted_token",
                "other_tenant",
            ] {
                counter!(TOKEN_REFUSALS, "reason" => reason).absolute(0);
            }
            for result in ["completed", "failed"] {
                counter!(COMPENSATIONS, "result" => result).absolute(0);
            }
            for kind in ["flo", "saga", "manager", "action"] {
                for status in ["completed", "failed", "cancelled", "timed_out"] {
                    counter!(RUNS_FINISHED, "kind" => kind, "status" => status).absolute(0);
                }
            }
            for result in Fire::ALL {
                result.counter().absolute(0);
            }
            for event in Adaptive::ALL {
                event.counter().absolute(0);
            }
            for outcome in Handshake::ALL {
                outcome.counter().absolute(0);
            }
            for reason in Closed::ALL {
                reason.counter().absolute(0);
            }
            for kind in Expensive::ALL {
                kind.gauge().set(0.0);
            }
            for limit in Limited::ALL {
                limit.counter().absolute(0);
            }
            indexes(0, 0);
            tasks_open(0, 0);
            runs_open([0; 3]);
            for kind in IncidentKind::ALL {
                incidents_open(kind, 0.0);
            }
        }
        exporter
    }

    /// All metrics with their present values, and those of a runtime.
    pub fn text(&self, runtime: &tokio::runtime::Handle) -> String {
        self.process.collect();
        let runtime = runtime.metrics();
        for (name, count) in [
            (WORKERS, runtime.num_workers()),
            (ALIVE_TASKS, runtime.num_alive_tasks()),
            (QUEUE_DEPTH, runtime.global_queue_depth()),
        ] {
            gauge!(name).set(u32::try_from(count).unwrap_or(u32::MAX));
        }
        self.handle.render()
    }

    /// Summarizes histograms regularly.
    pub async fn keep_up(self) {
        loop {
            tokio::time::sleep(UPKEEP).await;
            self.handle.run_upkeep();
        }
    }
}
