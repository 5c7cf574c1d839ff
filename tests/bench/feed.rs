//! Row T9: how long a change takes from its commit to whoever follows, how fast one that was away
//! catches up, and what memory a million changes take.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use hdrhistogram::Histogram;
use interlock::{clock::Timestamp, event::frame::Frame};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;

use crate::{
    Plan, load,
    machine::{self, Cores},
    message::{self, Model, decode, event, succeeded, text},
    process::{Client, Process, folder},
};

pub(crate) const NAME: &str = "T9";

/// How many changes there are to catch up with.
pub(crate) const CHANGES: u32 = 1_000_000;

/// How many of them are read in one round.
const ROUND: u32 = 200_000;

/// How many creations are in flight while changes are delivered.
pub(crate) const IN_FLIGHT: usize = 16;

/// How many entities one request makes, and how many such requests are in flight.
const AT_ONCE: u32 = 500;
const REQUESTS: u32 = 4;

/// What is later than that counts as that late.
const LATEST_US: u64 = 60_000_000;

/// How long what is on its way may take.
const SPARE: Duration = Duration::from_millis(500);

/// What was measured.
pub(crate) struct Outcome {
    /// From the commit, as it is stamped before it is written, to the reader; in microseconds.
    pub(crate) delivery: Histogram<u64>,
    /// How many were committed in a second meanwhile.
    pub(crate) committed: f64,
    /// Without documents, and with them.
    pub(crate) catching_up: [CaughtUp; 2],
    /// How large the process ever was that delivered all of them, in bytes.
    pub(crate) memory: u64,
    /// The share of the machine that other programs used.
    pub(crate) others: f64,
}

/// How fast changes were read.
#[derive(Default)]
pub(crate) struct CaughtUp {
    /// Changes per second in each round, and messages of that size by the echo server alone.
    pub(crate) services: Vec<f64>,
    pub(crate) floors: Vec<f64>,
    /// What one costs the service on a core.
    pub(crate) cpu_each: Duration,
}

pub(crate) async fn measure(plan: &Plan) -> Outcome {
    let folder = folder();
    let (delivery, committed) = {
        let service = Process::service(folder.path(), plan);
        let mut client = service.client().await;
        for (kind, payload) in Model::Plain.set_up() {
            let request = event(kind, "set-up", payload, []);
            let answer = client.entity_model_manage(request).await.expect("answers");
            succeeded(answer.into_inner());
        }
        let delivered = deliver(&service, plan).await;
        fill(&service).await;
        delivered
    };
    // Another process, so that what it takes it takes for the feed.
    let service = Process::service(folder.path(), plan);
    let echo = Process::echo();
    let (to_service, to_echo) = (service.client().await, echo.client().await);
    let cores = Cores::now();
    let cpu_time =
        || machine::cpu_time_of(std::process::id()) + service.cpu_time() + echo.cpu_time();
    let before = cpu_time();
    let rounds = u32::try_from(plan.rounds).expect("few");
    let mut catching_up = [CaughtUp::default(), CaughtUp::default()];
    for _ in 0..rounds {
        for (with_data, caught_up) in [false, true].into_iter().zip(&mut catching_up) {
            let on_core = service.cpu_time();
            let changes = subscribe(&to_service, Some(with_data)).await;
            let (rate, bytes) = take(changes, ROUND, true).await;
            caught_up.services.push(rate);
            caught_up.cpu_each += service.cpu_time().saturating_sub(on_core) / ROUND / rounds;
            let request = message::stream_of(ROUND, bytes);
            let same = to_echo.clone().entity_search_collection(request).await;
            let same = same.expect("answers").into_inner();
            caught_up.floors.push(take(same, ROUND, false).await.0);
        }
    }
    let all = subscribe(&to_service, Some(true)).await;
    take(all, CHANGES, true).await;
    let ours = cpu_time().saturating_sub(before);
    Outcome {
        delivery,
        committed,
        catching_up,
        memory: service.peak_memory(),
        others: Cores::now().others_since(&cores, ours),
    }
}

/// Begins to follow on a stream: from the first change on, with documents or without; or from now
/// on.
pub(crate) async fn subscribe(client: &Client, from_the_first: Option<bool>) -> Streaming<Frame> {
    let wanted = match from_the_first {
        Some(with_data) => format!(r#"{{"id":"1","fromSequence":0,"includeData":{with_data}}}"#),
        None => r#"{"id":"1"}"#.to_owned(),
    };
    let (outbox, frames) = mpsc::unbounded_channel();
    let request = event("EntityChangesSubscribeRequest", "1", wanted, []);
    outbox.send(request).expect("open");
    // Closed with the outbox, which says only that nothing more is asked.
    let answers = client
        .clone()
        .start_streaming(UnboundedReceiverStream::new(frames))
        .await;
    answers.expect("a stream").into_inner()
}

/// Reads so many messages: how many in a second, and how large the last one was.
async fn take(mut messages: Streaming<Frame>, count: u32, are_changes: bool) -> (f64, usize) {
    let began = Instant::now();
    let (mut bytes, mut reached) = (0, 0);
    for _ in 0..count {
        let frame = messages.message().await.expect("an open stream");
        let frame = frame.expect("a message");
        bytes = frame.0.len();
        let read = decode(frame);
        if are_changes {
            let sequence = number(text(&read), "sequence");
            assert!(sequence > reached, "{sequence} after {reached}");
            reached = sequence;
        }
    }
    (f64::from(count) / began.elapsed().as_secs_f64(), bytes)
}

/// What follows the name of a member.
pub(crate) fn after<'a>(json: &'a str, name: &str) -> &'a str {
    let name = format!("\"{name}\":");
    let at = json.find(&name).expect("a member") + name.len();
    &json[at..]
}

fn number(json: &str, name: &str) -> u64 {
    let digits = after(json, name).split(',').next().expect("digits");
    digits.parse().expect("a number")
}

/// Follows while others create: how late the changes come, and how many there are in a second.
async fn deliver(service: &Process, plan: &Plan) -> (Histogram<u64>, f64) {
    let late = Histogram::new_with_bounds(1, LATEST_US, 3).expect("bounds that fit");
    let late = Arc::new(Mutex::new(late));
    let mut changes = subscribe(&service.client().await, None).await;
    let reading = tokio::spawn({
        let late = Arc::clone(&late);
        async move {
            while let Ok(Some(change)) = changes.message().await {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let now = i64::try_from(now.expect("later").as_micros()).expect("this age");
                let change = decode(change);
                let at = after(text(&change), "timeOfChange").split('"').nth(1);
                let at = Timestamp::parse(at.expect("a text")).expect("a time");
                let micros = u64::try_from(now - at.micros()).unwrap_or(0);
                late.lock().expect("no panic").saturating_record(micros);
            }
        }
    });
    let clients = service.clients(IN_FLIGHT).await;
    let request = |id: &str| Model::Plain.create(id);
    let load = load::unary(&clients, IN_FLIGHT, plan.service, request).await;
    tokio::time::sleep(SPARE).await;
    reading.abort();
    let late = late.lock().expect("no panic").clone();
    assert_eq!(late.len(), u64::from(load.total), "each comes once");
    (late, load.rate())
}

/// Makes as many entities as there shall be changes.
pub(crate) async fn fill(service: &Process) {
    let mut makers = JoinSet::new();
    for maker in 0..REQUESTS {
        let mut client = service.client().await;
        makers.spawn(async move {
            for n in 0..CHANGES / AT_ONCE / REQUESTS {
                let request = Model::Plain.create_many(&format!("m{maker}-{n}"), AT_ONCE);
                let answers = client.entity_manage_collection(request).await;
                let mut answers = answers.expect("answers").into_inner();
                let answer = answers.message().await.expect("an answer");
                succeeded(answer.expect("an answer"));
            }
        });
    }
    while let Some(ended) = makers.join_next().await {
        ended.expect("a maker does not panic");
    }
}
