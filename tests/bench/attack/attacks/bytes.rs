//! Attacks by bytes: large records, large documents, little memory.

use ::bytes::Bytes;
use futures_util::future::join_all;
use interlock::event::EventType;
use serde_json::{Value, json};

use super::{Finding, Outcome, Tally, hammer, work::leaf};
use crate::{
    member::{Stream, request},
    stage::{ATTACKER, Stage},
    table::megabytes,
};

/// How many transitions are tried, in order; the first that is taken is the attack.
const TRANSITIONS: [usize; 6] = [20_000, 5_000, 1_000, 500, 200, 100];

const STORED_MAX: u64 = 20 << 20;

const CREATES: usize = 100;

pub(super) async fn decision_records(stage: Stage) -> Outcome {
    stage.attacker.model("doc", r#"{"n":1}"#).await;
    let mut findings = Vec::new();
    for count in TRANSITIONS {
        let transitions: Value = (0..count)
            .map(|n| {
                json!({"name": format!("t{n}"), "next": "NEW", "manual": false,
                    "criterion": leaf("$.n", "EQUALS", json!(-1))})
            })
            .collect();
        let workflow = json!({"version": "1.1", "name": "wide", "initialState": "NEW",
            "states": {"NEW": {"transitions": transitions}}});
        let imported = stage.attacker.workflow("doc", &workflow).await;
        let start = imported.start();
        findings.push(Finding::note(format!("{count} transitions: {start}")));
        if imported.is_ok() {
            break;
        }
    }
    let before = stage.stored();
    let tally = Tally::default();
    let creates = std::sync::atomic::AtomicUsize::new(0);
    let measured = stage
        .beside(async |stop| {
            let (stop, all) = (stop.clone(), stop);
            hammer(4, stop, &tally, {
                let (creates, stage) = (&creates, &stage);
                move |_| {
                    let number = creates.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if number + 1 >= CREATES {
                        all.cancel();
                    }
                    stage.attacker.post("/api/entity/JSON/doc/1", r#"{"n":1}"#)
                }
            })
            .await;
        })
        .await;
    let grown = stage.stored().saturating_sub(before);
    findings.push(tally.reported("the creates"));
    findings.push(Finding::bound(
        format!("the files have grown by {}", megabytes(grown)),
        grown <= STORED_MAX,
    ));
    Outcome { measured, findings }
}

/// How many creates are in flight on each stream.
const IN_FLIGHT: usize = 4;

pub(super) async fn large_documents(stage: Stage) -> Outcome {
    stage.attacker.model("doc", r#"{"t":"x"}"#).await;
    let text = "x".repeat(8_000_000);
    let frames: Vec<_> = (0..IN_FLIGHT)
        .map(|slot| {
            let id = slot.to_string();
            let payload = json!({"id": id, "dataFormat": "JSON",
                "payload": {"model": {"name": "doc", "version": 1}, "data": {"t": text}}});
            request(EventType::EntityCreateRequest, &id, &payload)
        })
        .collect();
    let answered = std::sync::atomic::AtomicUsize::new(0);
    let refused = std::sync::Mutex::new(None);
    let measured = stage
        .beside(async |stop| {
            let streams = (0..4).map(|_| async {
                let mut stream = Stream::open(stage.addresses.grpc, ATTACKER).await;
                for frame in &frames {
                    let _ = stream.outbox.send(frame.clone()).await;
                }
                loop {
                    let next = tokio::select! {
                        () = stop.cancelled() => break,
                        next = stream.inbound.message() => next,
                    };
                    let event = match next {
                        Ok(Some(frame)) => frame.event().ok(),
                        Ok(None) => break,
                        Err(status) => {
                            *refused.lock().expect("no panic") = Some(status.to_string());
                            break;
                        }
                    };
                    answered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(event) = event else { continue };
                    let text = event.text().unwrap_or_default();
                    if text.contains("\"success\":false") {
                        let start = text.chars().take(200).collect();
                        refused.lock().expect("no panic").get_or_insert(start);
                    }
                    let slot = event.attribute("requestid").and_then(|id| id.parse().ok());
                    if let Some(frame) = slot.and_then(|slot: usize| frames.get(slot)) {
                        let _ = stream.outbox.send(frame.clone()).await;
                    }
                }
            });
            join_all(streams).await;
        })
        .await;
    let answered = answered.into_inner();
    let mut findings = vec![Finding::note(format!("{answered} creates were answered"))];
    if let Some(refused) = refused.into_inner().expect("no panic") {
        findings.push(Finding::note(format!("a refusal was: {refused}")));
    }
    Outcome { measured, findings }
}

pub(super) async fn memory_limit(stage: Stage) -> Outcome {
    stage.attacker.model("doc", r#"{"t":"x"}"#).await;
    let document = Bytes::from(json!({"t": "x".repeat(9_000_000)}).to_string());
    let tally = Tally::default();
    let measured = stage
        .beside(async |stop| {
            hammer(24, stop, &tally, |_| {
                stage
                    .attacker
                    .post("/api/entity/JSON/doc/1", document.clone())
            })
            .await;
        })
        .await;
    let mut findings = vec![tally.reported("the creates")];
    if stage.is_alive() {
        let said = stage
            .innocent
            .post("/api/entity/JSON/small/1", r#"{"n":1,"s":"small"}"#)
            .await;
        let text = format!(
            "a create of the innocent client afterwards: {}",
            said.status
        );
        findings.push(Finding::bound(text, said.is_ok()));
    }
    Outcome { measured, findings }
}
