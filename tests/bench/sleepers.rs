//! Row T17: runs that sleep: what memory one takes, how many wake in a second, and how late.
//!
//! A run waits for a state that its entity never has, as long as its input says; so runs come due
//! as the row wants it. When they woke is read from their history.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use interlock::clock::Timestamp;
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::{
    Plan,
    message::{Model, event, succeeded, text},
    process::{Client, Process, folder},
    timers::{FAR_MS, IN_FLIGHT, LATEST_US, SPARE, bytes, milliseconds, now_ms},
};

pub(crate) const NAME: &str = "T17";

/// Those that sleep while the others wake.
pub(crate) const SLEEPING: u32 = 100_000;

/// How many fill what is bounded before memory is measured.
const FILLING: u32 = 40_000;

/// How many come due in a second while lateness is measured.
pub(crate) const STEADY_RATE: u32 = 2_000;
const STEADY: u32 = 10 * STEADY_RATE;

/// How many come due at one instant.
pub(crate) const BURST: u32 = 50_000;

/// Runs that sleep for long, and those that wake.
const LONG: &str = "sleeper";
const SHORT: &str = "napper";

/// What was measured.
pub(crate) struct Outcome {
    /// Of those at a steady rate, in microseconds.
    pub(crate) late: Histogram<u64>,
    /// Of the others: how many woke in a second.
    pub(crate) wakes: f64,
    /// By how many bytes one that sleeps makes the process larger.
    pub(crate) memory_each: f64,
}

pub(crate) async fn measure(plan: &Plan) -> Outcome {
    let folder = folder();
    let service = Process::service(folder.path(), plan);
    let clients = service.clients(plan.connections).await;
    let mut client = clients[0].clone();
    let entity = set_up(&mut client).await;
    let far = now_ms() + FAR_MS;
    start(&clients, LONG, &entity, vec![far; FILLING as usize]).await;
    let (before, began) = (service.memory(), Instant::now());
    start(&clients, LONG, &entity, vec![far; SLEEPING as usize]).await;
    let took = began.elapsed();
    let grown = service.memory().saturating_sub(before);

    let count = STEADY + BURST;
    let share = f64::from(count) / f64::from(SLEEPING);
    let first = now_ms() + milliseconds(took.mul_f64(share) + SPARE);
    let steady = |n: u32| first + i64::from(n) * 1_000 / i64::from(STEADY_RATE);
    let burst = steady(STEADY) + 1_000;
    let dues = (0..STEADY).map(steady).chain((0..BURST).map(|_| burst));
    start(&clients, SHORT, &entity, dues.collect()).await;
    assert!(now_ms() < first, "the machine is too slow to start in time");

    let woken = woken(&mut client, count).await;
    let mut late = Histogram::new_with_bounds(1, LATEST_US, 3).expect("bounds that fit");
    let mut last = 0;
    for (due, at) in woken {
        let micros = u64::try_from(at - due).expect("no timer is early");
        if due < (burst - 500) * 1_000 {
            late.saturating_record(micros);
        } else {
            last = last.max(at - burst * 1_000);
        }
    }
    let took = Duration::from_micros(u64::try_from(last).expect("after they were due"));
    Outcome {
        late,
        wakes: f64::from(BURST) / took.as_secs_f64(),
        memory_each: bytes(grown) / f64::from(SLEEPING),
    }
}

/// Makes the definitions, and the entity that is waited for.
async fn set_up(client: &mut Client) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Written {
        transaction_info: Info,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Info {
        entity_ids: [String; 1],
    }
    let definition = |name: &str| {
        let document = format!(
            r#"{{"kind":"Workflow","name":"{name}","version":"1.0.0","start":{{"run":"@entity/await","inputMapping":{{"entityId":"$.input.entity","states":["NEVER"],"timeoutMs":"$.input.ms"}},"transitions":{{"timeout":"flo.Completed","failure":"flo.Failed"}}}}}}"#
        );
        let payload = format!(r#"{{"id":"4","document":{document}}}"#);
        ("RunDefinitionCreateRequest", payload)
    };
    let model = Model::Plain.set_up();
    for (kind, payload) in model
        .into_iter()
        .chain([definition(LONG), definition(SHORT)])
    {
        let answer = client.entity_model_manage(event(kind, "set-up", payload, []));
        succeeded(answer.await.expect("answers").into_inner());
    }
    let answer = client.entity_manage(Model::Plain.create("c0-0")).await;
    let answer = succeeded(answer.expect("an answer").into_inner());
    let written: Written = serde_json::from_str(text(&answer)).expect("an entity");
    let [entity] = written.transaction_info.entity_ids;
    entity
}

/// Starts a run for each of these times.
async fn start(clients: &[Client], definition: &'static str, entity: &str, dues: Vec<i64>) {
    let dues = Arc::new(Mutex::new(dues.into_iter()));
    let mut callers = JoinSet::new();
    for client in clients.iter().cycle().take(IN_FLIGHT) {
        let (mut client, dues) = (client.clone(), Arc::clone(&dues));
        let next = move || dues.lock().expect("no panic").next();
        let entity = entity.to_owned();
        callers.spawn(async move {
            while let Some(due) = next() {
                let ms = (due - now_ms()).max(1);
                let payload = format!(
                    r#"{{"id":"1","definition":"{definition}","input":{{"entity":"{entity}","ms":{ms}}}}}"#
                );
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

/// When each of the runs was due and when it woke, in microseconds.
async fn woken(client: &mut Client, count: u32) -> Vec<(i64, i64)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Happened {
        run_id: String,
        event_type: String,
        detail: String,
        time: String,
    }
    #[derive(Deserialize)]
    struct Input {
        ms: i64,
    }
    let payload = format!(r#"{{"id":"1","definition":"{SHORT}","fromSequence":0}}"#);
    let request = event("RunHistorySubscribeRequest", "1", payload, []);
    let mut events = client
        .entity_search_collection(request)
        .await
        .expect("a stream")
        .into_inner();
    let mut naps: HashMap<String, i64> = HashMap::new();
    let mut dues: HashMap<String, i64> = HashMap::new();
    let mut woken = Vec::new();
    while woken.len() < count as usize {
        let frame = events.message().await.expect("an open stream");
        let answer = succeeded(frame.expect("an event"));
        let happened: Happened = serde_json::from_str(text(&answer)).expect("an event");
        let time = Timestamp::parse(&happened.time).expect("a time").micros();
        match &*happened.event_type {
            "workflow_started" => {
                let Input { ms } = serde_json::from_str(&happened.detail).expect("our input");
                naps.insert(happened.run_id, ms);
            }
            "step_started" => {
                let ms = naps.remove(&happened.run_id).expect("it was started");
                dues.insert(happened.run_id, time + ms * 1_000);
            }
            "workflow_completed" => {
                woken.push((dues.remove(&happened.run_id).expect("it began"), time));
            }
            _ => {}
        }
    }
    woken
}
