//! The row of sagas in a `delay`: what memory one takes, and how late the others wake.
//!
//! The length of a delay stands in the definition, so that sagas come due at the rate at which they
//! were started. When they woke is read from their history.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use hdrhistogram::Histogram;
use interlock::clock::Timestamp;
use serde::Deserialize;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    Plan,
    message::{event, succeeded, text},
    process::{Client, Process, folder},
    sagas::apply,
    timers::{IN_FLIGHT, LATEST_US, bytes},
};

pub(crate) const NAME: &str = "delay";

/// Those that sleep while the others wake.
pub(crate) const SLEEPING: u32 = 100_000;

/// How many fill what is bounded before memory is measured.
const FILLING: u32 = 40_000;

/// How many are started, and come due, in a second while lateness is measured.
pub(crate) const STEADY_RATE: u32 = 1_000;
const STEADY: u32 = 10 * STEADY_RATE;

/// Sagas that sleep for long, and those that wake after this.
const LONG: &str = "sleeper";
const SHORT: &str = "napper";
const NAP: Duration = Duration::from_secs(12);

/// What was measured.
pub(crate) struct Outcome {
    /// In microseconds.
    pub(crate) late: Histogram<u64>,
    /// By how many bytes one that sleeps makes the process larger.
    pub(crate) memory_each: f64,
}

pub(crate) async fn measure(plan: &Plan) -> Outcome {
    let folder = folder();
    let service = Process::service(folder.path(), plan);
    let clients = service.clients(plan.connections).await;
    let mut client = clients[0].clone();
    let saga = |name: &str, delay: &str| {
        format!("saga \"{name}\" {{\n step \"wait\" {{\n delay = \"{delay}\"\n }}\n}}\n")
    };
    let nap = format!("{}s", NAP.as_secs());
    apply(&mut client, &(saga(LONG, "24h") + &saga(SHORT, &nap))).await;
    start(&clients, LONG, FILLING, None).await;
    let before = service.memory();
    start(&clients, LONG, SLEEPING, None).await;
    let grown = service.memory().saturating_sub(before);
    start(&clients, SHORT, STEADY, Some(STEADY_RATE)).await;
    let late = late(&mut client).await;
    Outcome {
        late,
        memory_each: bytes(grown) / f64::from(SLEEPING),
    }
}

/// Starts so many, as fast as they are answered or so many in a second.
async fn start(clients: &[Client], saga: &'static str, count: u32, rate: Option<u32>) {
    let (next, began) = (Arc::new(AtomicU32::new(0)), Instant::now());
    let mut callers = JoinSet::new();
    for client in clients.iter().cycle().take(IN_FLIGHT) {
        let (mut client, next) = (client.clone(), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                if let Some(rate) = rate {
                    let after = Duration::from_secs_f64(f64::from(number) / f64::from(rate));
                    tokio::time::sleep_until(began + after).await;
                }
                let payload =
                    format!(r#"{{"id":"1","definition":"{saga}","input":{{"n":{number}}}}}"#);
                let request = event("RunStartRequest", "1", payload, []);
                let answer = client.entity_manage(request).await.expect("an answer");
                succeeded(answer.into_inner());
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.expect("a caller does not panic");
    }
}

/// How late each of those that wake was, in microseconds.
async fn late(client: &mut Client) -> Histogram<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Happened {
        run_id: String,
        event_type: String,
        time: String,
    }
    let payload = format!(r#"{{"id":"1","definition":"{SHORT}","fromSequence":0}}"#);
    let request = event("RunHistorySubscribeRequest", "1", payload, []);
    let mut events = client
        .entity_search_collection(request)
        .await
        .expect("a stream")
        .into_inner();
    let mut dues: HashMap<String, i64> = HashMap::new();
    let mut late = Histogram::new_with_bounds(1, LATEST_US, 3).expect("bounds that fit");
    let nap = i64::try_from(NAP.as_micros()).expect("short");
    while late.len() < u64::from(STEADY) {
        let frame = events.message().await.expect("an open stream");
        let answer = succeeded(frame.expect("an event"));
        let happened: Happened = serde_json::from_str(text(&answer)).expect("an event");
        let time = Timestamp::parse(&happened.time).expect("a time").micros();
        match &*happened.event_type {
            "delay_started" => {
                dues.insert(happened.run_id, time + nap);
            }
            "delay_expired" => {
                let due = dues.remove(&happened.run_id).expect("it began");
                let micros = u64::try_from(time - due).expect("no delay is short");
                late.saturating_record(micros);
            }
            _ => {}
        }
    }
    late
}
