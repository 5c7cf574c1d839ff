//! Timers of one tenant that wait for a member that does not answer, beside those of another.

use std::time::{Duration, Instant};

use interlock::clock::Timestamp;
use serde_json::{Value, json};

use super::{Finding, Outcome};
use crate::{
    member,
    stage::{ATTACKER, Stage},
};

/// How late a timer may be.
const LATE_MAX: Duration = Duration::from_millis(100);

/// When timers of the innocent tenant are due after they are armed, and how often one is armed.
const DELAY: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(200);

/// How long a timer is waited for after the attack.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) async fn silent_member(stage: Stage) -> Outcome {
    beside_timers(&stage, 10_000, json!({})).await
}

pub(super) async fn for_an_hour(stage: Stage) -> Outcome {
    beside_timers(&stage, 300, json!({"responseTimeoutMs": 3_600_000})).await
}

fn timed(delay: Duration, processors: &Value) -> Value {
    json!({"version": "1.1", "name": "timed", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "FIRE", "next": "DONE", "manual": false,
            "schedule": {"delayMs": u64::try_from(delay.as_millis()).expect("short")},
            "processors": processors}]},
        "DONE": {}}})
}

async fn beside_timers(stage: &Stage, count: usize, config: Value) -> Outcome {
    let member = member::silent(stage.addresses.grpc, ATTACKER, "silent").await;
    let mut config = config;
    config["calculationNodesTags"] = json!("silent");
    let processor =
        json!({"type": "EXTERNAL", "name": "work", "executionMode": "SYNC", "config": config});
    let delay = Duration::from_millis(500 + u64::try_from(count).expect("small"));
    stage.attacker.model("doc", r#"{"n":1}"#).await;
    let imported = stage
        .attacker
        .workflow("doc", &timed(delay, &json!([processor])))
        .await;
    assert!(imported.is_ok(), "{}", imported.start());
    stage.innocent.model("timed", r#"{"n":1}"#).await;
    let imported = stage
        .innocent
        .workflow("timed", &timed(DELAY, &json!([])))
        .await;
    assert!(imported.is_ok(), "{}", imported.start());
    stage
        .attacker
        .create_many("doc", count, |n| json!({ "n": n }))
        .await;
    // All of them are due by then.
    tokio::time::sleep(delay).await;
    let mut armed = Vec::new();
    let measured = stage
        .beside(async |stop| {
            let mut tick = tokio::time::interval(PAUSE);
            loop {
                tokio::select! {
                    () = stop.cancelled() => break,
                    _ = tick.tick() => {}
                }
                let document = r#"{"n":1}"#;
                let said = stage
                    .innocent
                    .post("/api/entity/JSON/timed/1", document)
                    .await;
                armed.extend(
                    said.json()[0]["entityIds"][0]
                        .as_str()
                        .map(ToOwned::to_owned),
                );
            }
        })
        .await;
    let patience = Instant::now() + PATIENCE;
    let (mut late, mut missing) = (Vec::new(), 0);
    for id in &armed {
        match lateness(stage, id, patience).await {
            Some(lateness) => late.push(lateness),
            None => missing += 1,
        }
    }
    member.abort();
    late.sort();
    let worst = late.last().copied().unwrap_or_default();
    let median = late.get(late.len() / 2).copied().unwrap_or_default();
    let text = format!(
        "of {} timers of the innocent client {missing} did not fire within {} s; half were at most {} ms late, the latest {} ms",
        armed.len(),
        PATIENCE.as_secs(),
        median.as_millis(),
        worst.as_millis()
    );
    let held = !armed.is_empty() && missing == 0 && worst <= LATE_MAX;
    Outcome {
        measured,
        findings: vec![Finding::bound(text, held)],
    }
}

/// By how much the timer of an entity was late, as the entity itself says; none if it has not fired.
async fn lateness(stage: &Stage, id: &str, patience: Instant) -> Option<Duration> {
    let time = |value: &Value| Timestamp::parse(value.as_str()?).ok();
    loop {
        let entity = stage
            .innocent
            .get(&format!("/api/entity/{id}"))
            .await
            .json();
        let meta = &entity["meta"];
        if meta["state"] == "DONE" {
            let due = time(&meta["creationDate"])?.after(DELAY);
            return Some(time(&meta["lastUpdateTime"])?.since(due));
        }
        if Instant::now() > patience {
            return None;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
