//! What each metric means, for the reference and for those who read them.

use metrics::{describe_counter, describe_gauge, describe_histogram};

use super::measure::{
    ADAPTIVE_INDEXES, ALIVE_TASKS, COMMIT_TIME_AHEAD, COMPENSATIONS, CONNECTIONS,
    CONNECTIONS_ENDED, CONNECTOR_DURATION, DISPATCH_COUNT, DISPATCH_DURATION, EXPENSIVE_WORK,
    HANDSHAKES, INCIDENTS_OPEN, LINES_DROPPED, MANAGER_TICK_DURATION, MANAGERS_READ,
    OPERATION_DURATION, OPERATION_FAILURES, PANICS, POSITIONS_LOST, QUEUE_DEPTH,
    RUN_TIMER_LATENESS, RUNS_FINISHED, RUNS_OPEN, RUNS_STARTED, SCHEDULE_FIRES, SEARCH_INDEXES,
    STORAGE_DAMAGE, TASKS_FINISHED, TASKS_OPEN, TENANT_REFUSALS, TOKEN_REFUSALS, TX_ACTIVE,
    TX_CONFLICTS, TX_DURATION, WORKERS,
};
use super::nodes::{CLOCK_DIFFERENCE, LINKS, NODE_STREAMS, PULSE_DURATION};

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A metric of the service; those of the process (`process_…`) are the library's.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    pub name: &'static str,
    pub kind: MetricKind,
    /// The names of its labels, separated by commas.
    pub labels: &'static str,
    pub meaning: &'static str,
}

const fn metric(
    name: &'static str,
    kind: MetricKind,
    labels: &'static str,
    meaning: &'static str,
) -> Metric {
    Metric {
        name,
        kind,
        labels,
        meaning,
    }
}

/// Every metric.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    metric(TX_DURATION, MetricKind::Histogram, "op", "duration of transaction steps: `begin`, `commit`, `rollback`"),
    metric(TX_ACTIVE, MetricKind::Gauge, "", "open transactions"),
    metric(TX_CONFLICTS, MetricKind::Counter, "", "transactions aborted by a write conflict"),
    metric(DISPATCH_DURATION, MetricKind::Histogram, "type", "duration of calls to compute members: `processor`, `criteria`, `schedule`"),
    metric(DISPATCH_COUNT, MetricKind::Counter, "type", "calls to compute members"),
    metric(OPERATION_DURATION, MetricKind::Histogram, "type", "duration of operations until their answer begins, by event type"),
    metric(OPERATION_FAILURES, MetricKind::Counter, "type, code", "failed operations, by event type and error code"),
    metric(SEARCH_INDEXES, MetricKind::Gauge, "kind", "maintained search indexes"),
    metric(SCHEDULE_FIRES, MetricKind::Counter, "result", "instants at which a schedule was due: a run was started (`started`), too many were live (`skipped`), or it is retried (`failed`)"),
    metric(ADAPTIVE_INDEXES, MetricKind::Counter, "event", "adaptive indexes that were created, became ready and were removed"),
    metric(HANDSHAKES, MetricKind::Counter, "outcome", "TLS handshakes: `done`, `failed`, `too_slow`, `displaced`"),
    metric(CONNECTIONS, MetricKind::Gauge, "port", "open connections: `rest`, `grpc`, `admin`"),
    metric(CONNECTIONS_ENDED, MetricKind::Counter, "reason", "connections and requests ended by the server"),
    metric(TENANT_REFUSALS, MetricKind::Counter, "limit", "requests rejected because their tenant reached a limit"),
    metric(TOKEN_REFUSALS, MetricKind::Counter, "reason", "token requests that were refused: an unknown client or a wrong secret (`invalid_client`), too many of them from one address (`too_many_failures`), too many waiting requests (`busy`), a token to exchange that is not trusted (`untrusted_token`) or belongs to another tenant (`other_tenant`)"),
    metric(EXPENSIVE_WORK, MetricKind::Gauge, "kind", "conditions being read (`reading`), entities being evaluated (`evaluating`) and modules being executed (`modules`) on separate threads"),
    metric(PANICS, MetricKind::Counter, "", "contained panics"),
    metric(LINES_DROPPED, MetricKind::Counter, "", "lines that are missing in the log, because it could not be written as fast as it was made, or at all"),
    metric(COMMIT_TIME_AHEAD, MetricKind::Gauge, "", "by how much the time of the newest commit was ahead of the clock when it was made, or at the start; more than a few seconds if the clock was ahead before"),
    metric(STORAGE_DAMAGE, MetricKind::Counter, "", "reads that met a damaged page of the database"),
    metric(RUNS_STARTED, MetricKind::Counter, "kind, by", "started runs, by kind (`flo`, `saga`, `manager`; `action`: invocations of actions) and what started them (`caller`, `schedule`, `trigger`, `parent`, `transition`, `route`)"),
    metric(RUNS_FINISHED, MetricKind::Counter, "kind, status", "ended runs, by kind and status: `completed`, `failed`, `cancelled`, `timed_out`"),
    metric(POSITIONS_LOST, MetricKind::Counter, "", "positions of the sequence that the PostgreSQL server lacks after a failover; some commits were lost whenever it increases, but the number includes positions that were skipped at a start of a server, so it may be far above that of the commits"),
    metric(PULSE_DURATION, MetricKind::Histogram, "result", "how long the PostgreSQL server took to say what was committed: `answered`, `failed`"),
    metric(LINKS, MetricKind::Counter, "outcome", "batches of commits that this process has written to PostgreSQL (`committed`), and that it had to validate again because another process was first or had its turn (`overtaken`)"),
    metric(NODE_STREAMS, MetricKind::Gauge, "", "open streams to other nodes of the cluster"),
    metric(CLOCK_DIFFERENCE, MetricKind::Gauge, "", "by how much the clock of the PostgreSQL server, which is used for all times, is ahead of that of this machine"),
    metric(COMPENSATIONS, MetricKind::Counter, "result", "compensations of sagas that have ended: `completed`, `failed`"),
    metric(RUNS_OPEN, MetricKind::Gauge, "status", "runs that have not ended, invocations of actions included: `pending`, `running`, `waiting`"),
    metric(RUN_TIMER_LATENESS, MetricKind::Histogram, "", "how long after its time a run that waited for it was advanced"),
    metric(INCIDENTS_OPEN, MetricKind::Gauge, "kind", "work that has stopped after it failed too often, and waits for an operator: `run`, `timer`, `producer`"),
    metric(TASKS_FINISHED, MetricKind::Counter, "kind, outcome", "ended tasks, by kind (`action`, `connector`, `item`) and outcome; `other` stands for outcomes of an action's own"),
    metric(CONNECTOR_DURATION, MetricKind::Histogram, "type, result", "duration of calls to connectors (`http`, `database`, `email`); `result`: `success`, `failed`, `unavailable`, `timed_out`, `cancelled`"),
    metric(MANAGERS_READ, MetricKind::Counter, "", "managers that ticks have read; one is read again when its file, a state file or what was started for it has changed"),
    metric(MANAGER_TICK_DURATION, MetricKind::Histogram, "", "duration of ticks of the managers of a namespace"),
    metric(TASKS_OPEN, MetricKind::Gauge, "status", "tasks that are not over: `pending`, `running`"),
    metric(WORKERS, MetricKind::Gauge, "", "worker threads of the runtime"),
    metric(ALIVE_TASKS, MetricKind::Gauge, "", "tasks that have not ended"),
    metric(QUEUE_DEPTH, MetricKind::Gauge, "", "tasks waiting for a thread"),
];

pub(super) fn describe() {
    for metric in METRICS {
        match metric.kind {
            MetricKind::Counter => describe_counter!(metric.name, metric.meaning),
            MetricKind::Gauge => describe_gauge!(metric.name, metric.meaning),
            MetricKind::Histogram => describe_histogram!(metric.name, metric.meaning),
        }
    }
}
