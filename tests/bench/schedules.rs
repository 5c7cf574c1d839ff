//! Row T19: many schedules: how late they fire, and whether each instant has one start.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use hdrhistogram::Histogram;
use interlock::clock::Timestamp;
use serde::Deserialize;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    Plan,
    message::{event, succeeded, text},
    process::{Client, Process, folder},
    timers::{LATEST_US, now_ms},
};

pub(crate) const NAME: &str = "T19";

pub(crate) const SCHEDULES: u32 = 10_000;

/// How often each fires.
const INTERVAL_MS: i64 = 10_000;

/// How long they are watched once all are there.
const WATCHED: Duration = Duration::from_secs(32);

const IN_FLIGHT: u32 = 32;

/// What was measured.
pub(crate) struct Outcome {
    pub(crate) late: Histogram<u64>,
    pub(crate) missed: u64,
    pub(crate) doubled: u64,
    pub(crate) fires: u64,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Run>,
    pagination: Pagination,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    definition: Definition,
    created_at: String,
}

#[derive(Deserialize)]
struct Definition {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    #[serde(default)]
    next_cursor: Option<String>,
}

pub(crate) async fn measure(plan: &Plan) -> Outcome {
    let folder = folder();
    let service = Process::service(folder.path(), plan);
    let clients = service.clients(plan.connections).await;
    let mut firsts = HashMap::new();
    let mut callers = JoinSet::new();
    for (caller, client) in (0..IN_FLIGHT).zip(clients.iter().cycle()) {
        callers.spawn(create(client.clone(), caller));
    }
    while let Some(created) = callers.join_next().await {
        firsts.extend(created.expect("a caller does not panic"));
    }
    sleep(WATCHED).await;
    let until = now_ms() * 1_000 - 1_000_000;
    sleep(Duration::from_secs(1)).await;
    let starts = started(&mut clients[0].clone()).await;
    judge(&firsts, &starts, until)
}

/// Compares when schedules fired with when they should have, as far as `until`.
fn judge(firsts: &HashMap<String, i64>, starts: &[(String, i64)], until: i64) -> Outcome {
    let interval = INTERVAL_MS * 1_000;
    let mut late = Histogram::new_with_bounds(1, LATEST_US, 3).expect("bounds that fit");
    let mut instants: HashMap<&str, BTreeMap<i64, u64>> = HashMap::new();
    let mut fires = 0;
    for (name, at) in starts {
        let first = firsts[name.as_str()];
        // What fires early, by less than half an interval, would be a start of the one before.
        let instant = (at - first).div_euclid(interval);
        let due = first + instant * interval;
        if due <= until {
            fires += 1;
            let micros = u64::try_from(at - due).expect("it is after that");
            late.saturating_record(micros);
            *instants
                .entry(name)
                .or_default()
                .entry(instant)
                .or_default() += 1;
        }
    }
    let (mut missed, mut doubled) = (0, 0);
    for (name, first) in firsts {
        let wanted = (until - first).div_euclid(interval) + 1;
        let seen = instants.get(name.as_str());
        for instant in 0..wanted.max(0) {
            match seen.and_then(|seen| seen.get(&instant)) {
                None => missed += 1,
                Some(times) => doubled += times - 1,
            }
        }
    }
    Outcome {
        late,
        missed,
        doubled,
        fires,
    }
}

/// Creates a part of the schedules; when each fires first, in microseconds.
async fn create(mut client: Client, caller: u32) -> Vec<(String, i64)> {
    #[derive(Deserialize)]
    struct Got {
        schedule: Schedule,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Schedule {
        next_fire_at: String,
    }
    let mut firsts = Vec::new();
    for number in (caller..SCHEDULES).step_by(IN_FLIGHT as usize) {
        let name = format!("scheduled-{number}");
        // The action is not there: a run ends at once, and is no work for anybody.
        let document = format!(
            r#"{{"kind":"Workflow","name":"{name}","version":"1.0.0","schedule":{{"interval":{INTERVAL_MS},"max_concurrent":0}},"start":{{"run":"@actions/none","transitions":{{"target_not_found":"flo.Completed"}}}}}}"#
        );
        let payload = format!(r#"{{"id":"1","document":{document}}}"#);
        let request = event("RunDefinitionCreateRequest", "1", payload, []);
        let answer = client.entity_model_manage(request).await.expect("answers");
        succeeded(answer.into_inner());
        let payload = format!(r#"{{"id":"1","name":"{name}"}}"#);
        let request = event("RunDefinitionGetRequest", "1", payload, []);
        let answer = client.entity_model_manage(request).await.expect("answers");
        let answer = succeeded(answer.into_inner());
        let got: Got = serde_json::from_str(text(&answer)).expect("a schedule");
        let first = Timestamp::parse(&got.schedule.next_fire_at).expect("a time");
        firsts.push((name, first.micros()));
    }
    firsts
}

/// Which definitions have started runs, and when, in microseconds.
async fn started(client: &mut Client) -> Vec<(String, i64)> {
    let mut started = Vec::new();
    let mut cursor = String::new();
    loop {
        let payload = format!(r#"{{"id":"1","limit":1000{cursor}}}"#);
        let request = event("RunsGetRequest", "1", payload, []);
        let answer = client.entity_search(request).await.expect("an answer");
        let answer = succeeded(answer.into_inner());
        let page: Page = serde_json::from_str(text(&answer)).expect("a page");
        for run in page.items {
            let at = Timestamp::parse(&run.created_at).expect("a time");
            started.push((run.definition.name, at.micros()));
        }
        match page.pagination.next_cursor {
            Some(next) => cursor = format!(r#","cursor":"{next}""#),
            None => return started,
        }
    }
}
