//! The attacks, and what an innocent client may notice of each.

mod bytes;
mod connections;
mod identity;
mod timers;
mod work;

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Mutex,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::{
    caller::Said,
    innocent::Connections,
    stage::{Measured, Stage},
};

/// Something that one tenant does, and its bounds.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) what: &'static str,
    pub(crate) bounds: &'static [Bound],
    pub(crate) confinement: Confinement,
    /// Of the innocent client.
    pub(crate) connections: Connections,
    pub(crate) act: fn(Stage) -> Pin<Box<dyn Future<Output = Outcome>>>,
}

/// What an innocent client may notice, and what the server may take.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    P99(Duration),
    /// Of `/readyz`, the 99th percentile.
    Ready(Duration),
    /// The most memory, in MB.
    Memory(u64),
    /// None of its requests fails.
    Errors,
    /// How long after the attack the server may be busy.
    Idle(Duration),
    /// What the attack finds out by itself.
    Reported(&'static str),
}

/// What the kernel lets the server have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Confinement {
    None,
    /// So many open files.
    Files(u32),
    /// So many bytes of addresses.
    AddressSpace(u64),
}

/// What came of an attack.
pub(crate) struct Outcome {
    pub(crate) measured: Measured,
    pub(crate) findings: Vec<Finding>,
}

/// What an attack found out by itself.
pub(crate) struct Finding {
    pub(crate) text: String,
    pub(crate) held: bool,
}

impl Finding {
    /// Something to know, which is no bound.
    pub(crate) const fn note(text: String) -> Self {
        Self { text, held: true }
    }

    pub(crate) const fn bound(text: String, held: bool) -> Self {
        Self { text, held }
    }
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const IDLE: Bound = Bound::Idle(Duration::from_secs(2));
const SERVED: &[Bound] = &[
    Bound::P99(ms(150)),
    Bound::Ready(ms(100)),
    Bound::Errors,
    IDLE,
];

const NORMAL: Attack = Attack {
    name: "none",
    what: "nothing: what the innocent client sees without an attack",
    bounds: SERVED,
    confinement: Confinement::None,
    connections: Connections::Kept,
    act: |stage| Box::pin(work::nothing(stage)),
};

pub(crate) const ATTACKS: &[Attack] = &[
    NORMAL,
    Attack {
        name: "patterns",
        what: "four clients search with AND of 100 × MATCHES_PATTERN `\\pL{20}x<i>`",
        act: |stage| Box::pin(work::patterns(stage)),
        ..NORMAL
    },
    Attack {
        name: "long-text",
        what: "two searches of a 9 MB text with 1,500 ICONTAINS",
        act: |stage| Box::pin(work::long_text(stage)),
        ..NORMAL
    },
    Attack {
        name: "long-criterion",
        what: "four creates of a 9 MB text, judged by a criterion of 1,500 ICONTAINS",
        act: |stage| Box::pin(work::long_criterion(stage)),
        ..NORMAL
    },
    Attack {
        name: "nested-macros",
        what: "four requests to a route whose filter compares each pair of 300 numbers",
        act: |stage| Box::pin(work::nested_macros(stage)),
        ..NORMAL
    },
    Attack {
        name: "in-list",
        what: "a search of 5,000 entities with IN and 99,990 numbers",
        act: |stage| Box::pin(work::in_list(stage)),
        ..NORMAL
    },
    Attack {
        name: "long-lists",
        what: "32 clients ask for the last page of 200,000 entities, and for counts by state",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Errors,
            IDLE,
            Bound::Reported("lists of others ≤ 150 ms"),
        ],
        act: |stage| Box::pin(work::long_lists(stage)),
        ..NORMAL
    },
    Attack {
        name: "decision-records",
        what: "100 creates into a state with 20,000 transitions",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Errors,
            IDLE,
            Bound::Reported("≤ 20 MB stored"),
        ],
        act: |stage| Box::pin(bytes::decision_records(stage)),
        ..NORMAL
    },
    Attack {
        name: "large-documents",
        what: "four streams of creates of 8 MB",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Memory(400),
            Bound::Errors,
            IDLE,
        ],
        act: |stage| Box::pin(bytes::large_documents(stage)),
        ..NORMAL
    },
    Attack {
        name: "memory-limit",
        what: "24 creates of 9 MB at once, with 400 MB of address space",
        bounds: &[Bound::Reported("the process survives and serves")],
        confinement: Confinement::AddressSpace(400 << 20),
        act: |stage| Box::pin(bytes::memory_limit(stage)),
        ..NORMAL
    },
    Attack {
        name: "half-sent-bodies",
        what: "300 half-sent bodies of 1 MB to the token endpoint",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Memory(256),
            Bound::Errors,
            IDLE,
        ],
        act: |stage| Box::pin(connections::half_sent_bodies(stage)),
        ..NORMAL
    },
    Attack {
        name: "idle-connections",
        what: "1,100 idle connections of one address, with 1,024 files",
        confinement: Confinement::Files(1_024),
        connections: Connections::Fresh,
        act: |stage| Box::pin(connections::idle(stage)),
        ..NORMAL
    },
    Attack {
        name: "slow-connections",
        what: "idle, half-sent and trickling connections to each port",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Errors,
            IDLE,
            Bound::Reported("each closed within 75 s"),
        ],
        act: |stage| Box::pin(connections::slow(stage)),
        ..NORMAL
    },
    Attack {
        name: "wrong-guesses",
        what: "wrong secrets of a known client, beside honest token requests of it",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Errors,
            IDLE,
            Bound::Reported("honest tokens within 1 s"),
        ],
        act: |stage| Box::pin(identity::wrong_guesses(stage)),
        ..NORMAL
    },
    Attack {
        name: "unknown-names",
        what: "token requests of clients that do not exist, beside honest ones",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Errors,
            IDLE,
            Bound::Reported("honest tokens within 1 s"),
        ],
        act: |stage| Box::pin(identity::unknown_names(stage)),
        ..NORMAL
    },
    Attack {
        name: "timers",
        what: "10,000 due timers that wait for a silent member",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Errors,
            Bound::Reported("timers ≤ 100 ms late"),
        ],
        act: |stage| Box::pin(timers::silent_member(stage)),
        ..NORMAL
    },
    Attack {
        name: "timers-for-an-hour",
        what: "300 due timers that wait for a silent member with `responseTimeoutMs` of 1 h",
        bounds: &[
            Bound::P99(ms(150)),
            Bound::Ready(ms(100)),
            Bound::Errors,
            Bound::Reported("timers ≤ 100 ms late"),
        ],
        act: |stage| Box::pin(timers::for_an_hour(stage)),
        ..NORMAL
    },
];

/// How clients pause between their requests, so that it is the server that is busy.
const BREATH: Duration = Duration::from_millis(2);

/// What the clients of an attack were answered.
#[derive(Default)]
pub(crate) struct Tally(Mutex<Answers>);

#[derive(Default)]
struct Answers {
    by_status: BTreeMap<u16, usize>,
    slowest: Duration,
    example: Option<String>,
}

impl Tally {
    pub(crate) fn note(&self, said: &Said, took: Duration) {
        let mut answers = self.0.lock().expect("no panic");
        *answers.by_status.entry(said.status).or_default() += 1;
        answers.slowest = answers.slowest.max(took);
        if !said.is_ok() {
            answers.example.get_or_insert_with(|| said.start());
        }
    }

    /// How many were answered with a status.
    pub(crate) fn count(&self, status: u16) -> usize {
        let answers = self.0.lock().expect("no panic");
        answers.by_status.get(&status).copied().unwrap_or(0)
    }

    pub(crate) fn total(&self) -> usize {
        self.0.lock().expect("no panic").by_status.values().sum()
    }

    pub(crate) fn slowest(&self) -> Duration {
        self.0.lock().expect("no panic").slowest
    }

    pub(crate) fn reported(&self, whose: &str) -> Finding {
        let answers = self.0.lock().expect("no panic");
        let statuses: Vec<String> = answers
            .by_status
            .iter()
            .map(|(status, count)| match status {
                0 => format!("{count} × not answered"),
                status => format!("{count} × {status}"),
            })
            .collect();
        let example = answers
            .example
            .as_ref()
            .map_or_else(String::new, |example| format!("; for instance {example}"));
        let slowest = answers.slowest.as_secs_f64();
        let statuses = if statuses.is_empty() {
            "none".to_owned()
        } else {
            statuses.join(", ")
        };
        Finding::note(format!(
            "answers to {whose}: {statuses}; the slowest took {slowest:.2} s{example}"
        ))
    }
}

/// So many clients, each of which asks again when it is answered, until they are stopped: then they
/// leave without waiting for their answers.
pub(crate) async fn hammer<Asking>(
    count: usize,
    stop: CancellationToken,
    tally: &Tally,
    ask: impl Fn(usize) -> Asking,
) where
    Asking: Future<Output = Said>,
{
    let clients = (0..count).map(|client| {
        let (ask, stop) = (&ask, &stop);
        async move {
            let mut number = client;
            while !stop.is_cancelled() {
                let began = Instant::now();
                tokio::select! {
                    () = stop.cancelled() => break,
                    said = ask(number) => tally.note(&said, began.elapsed()),
                }
                number += count;
                tokio::time::sleep(BREATH).await;
            }
        }
    });
    join_all(clients).await;
}
