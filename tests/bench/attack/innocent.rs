//! The innocent client: small reads and creates of a tenant of its own, and questions whether the
//! service is ready.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{caller::Caller, stage::Addresses};

/// The tenant that does no harm.
pub(crate) const TENANT: &str = "innocent";

/// A read or a create is due so often, and a question of readiness.
const PAUSE: Duration = Duration::from_millis(50);
const PROBE_PAUSE: Duration = Duration::from_millis(100);

/// After how long a request counts as not answered.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the innocent client saw.
#[derive(Clone)]
pub(crate) struct Seen {
    /// In microseconds, each from when the request was due.
    pub(crate) requests: Histogram<u64>,
    pub(crate) probes: Histogram<u64>,
    /// Requests that were refused, or not answered.
    pub(crate) errors: usize,
    /// One of them, for people.
    pub(crate) example: Option<String>,
}

impl Seen {
    fn new() -> Self {
        let histogram = || Histogram::new_with_bounds(1, 120_000_000, 3).expect("bounds that fit");
        Self {
            requests: histogram(),
            probes: histogram(),
            errors: 0,
            example: None,
        }
    }
}

/// How the client keeps its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connections {
    Kept,
    /// Each request is on a connection of its own.
    Fresh,
}

/// A client at work.
pub(crate) struct Innocent {
    stop: CancellationToken,
    seen: Arc<Mutex<Seen>>,
    thread: std::thread::JoinHandle<()>,
}

impl Innocent {
    /// Begins, on a thread of its own, so that the attack does not hold it up in this process.
    pub(crate) fn begin(addresses: Addresses, connections: Connections, entity: String) -> Self {
        let stop = CancellationToken::new();
        let seen = Arc::new(Mutex::new(Seen::new()));
        let (stopped, kept) = (stop.clone(), Arc::clone(&seen));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(work(addresses, connections, entity, stopped, kept));
        });
        Self { stop, seen, thread }
    }

    /// Ends once everything that was asked is answered, or has waited too long.
    pub(crate) fn end(self) -> Seen {
        self.stop.cancel();
        self.thread
            .join()
            .expect("the innocent client does not panic");
        self.seen.lock().expect("no panic").clone()
    }
}

async fn work(
    addresses: Addresses,
    connections: Connections,
    entity: String,
    stop: CancellationToken,
    seen: Arc<Mutex<Seen>>,
) {
    let new = match connections {
        Connections::Kept => Caller::new,
        Connections::Fresh => Caller::without_connections,
    };
    let caller = new(addresses.http).of(TENANT);
    let operator = new(addresses.admin);
    let out = TaskTracker::new();
    let began = Instant::now();
    let (mut next, mut next_probe, mut count) = (began, began, 0_u32);
    while !stop.is_cancelled() {
        let due = next.min(next_probe);
        tokio::time::sleep_until(due.into()).await;
        if due == next_probe {
            next_probe += PROBE_PAUSE;
            let (operator, seen) = (operator.clone(), Arc::clone(&seen));
            out.spawn(async move {
                let asked = tokio::time::timeout(PATIENCE, operator.get("/readyz")).await;
                let fault = asked.map_or_else(
                    |_| Some("/readyz: not answered".to_owned()),
                    |said| (!said.is_ok()).then(|| format!("/readyz: {}", said.start())),
                );
                note(&seen, due, fault, true);
            });
            continue;
        }
        next += PAUSE;
        count += 1;
        let (caller, seen, entity) = (caller.clone(), Arc::clone(&seen), entity.clone());
        out.spawn(async move {
            let asking = async {
                if count.is_multiple_of(2) {
                    caller.get(&format!("/api/entity/{entity}")).await
                } else {
                    let document = format!(r#"{{"n":{count},"s":"small"}}"#);
                    caller.post("/api/entity/JSON/small/1", document).await
                }
            };
            let asked = tokio::time::timeout(PATIENCE, asking).await;
            let fault = asked.map_or_else(
                |_| Some("not answered".to_owned()),
                |said| (!said.is_ok()).then(|| said.start()),
            );
            note(&seen, due, fault, false);
        });
    }
    out.close();
    out.wait().await;
}

fn note(seen: &Mutex<Seen>, due: Instant, fault: Option<String>, is_probe: bool) {
    let micros = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
    let mut seen = seen.lock().expect("no panic");
    let of = if is_probe {
        &mut seen.probes
    } else {
        &mut seen.requests
    };
    of.saturating_record(micros);
    if let Some(fault) = fault {
        seen.errors += 1;
        seen.example.get_or_insert(fault);
    }
}
