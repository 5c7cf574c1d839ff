//! Attacks by work: patterns, long texts and long lists.

use std::time::Duration;

use ::bytes::Bytes;
use serde_json::{Value, json};

use super::{Finding, Outcome, Tally, hammer};
use crate::stage::Stage;

const SEARCH: &str = "/api/search/direct/doc/1";

/// A text of 9 MB in both cases.
fn megabytes_of_text() -> String {
    "Nothing of THIS is what is looked for; ".repeat(9_000_000 / 39)
}

pub(super) fn leaf(path: &str, operator: &str, value: Value) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value})
}

fn group(operator: &str, leaves: impl Iterator<Item = Value>) -> Value {
    json!({"type": "group", "operator": operator, "conditions": leaves.collect::<Value>()})
}

fn needles() -> Value {
    group(
        "OR",
        (0..1_500).map(|n| leaf("$.t", "ICONTAINS", json!(format!("needle {n}")))),
    )
}

pub(super) async fn nothing(stage: Stage) -> Outcome {
    let measured = stage.beside(async |stop| stop.cancelled().await).await;
    Outcome {
        measured,
        findings: Vec::new(),
    }
}

/// So many clients search with a condition.
async fn searched(stage: &Stage, clients: usize, condition: &Value) -> Outcome {
    let condition = Bytes::from(condition.to_string());
    let tally = Tally::default();
    let measured = stage
        .beside(async |stop| {
            hammer(clients, stop, &tally, |_| {
                stage.attacker.post(SEARCH, condition.clone())
            })
            .await;
        })
        .await;
    Outcome {
        measured,
        findings: vec![tally.reported("the searches")],
    }
}

pub(super) async fn patterns(stage: Stage) -> Outcome {
    stage.attacker.model("doc", r#"{"t":"x"}"#).await;
    stage.attacker.create("doc", r#"{"t":"a text"}"#).await;
    let patterns =
        (0..100).map(|n| leaf("$.t", "MATCHES_PATTERN", json!(format!("\\pL{{20}}x{n}"))));
    searched(&stage, 4, &group("AND", patterns)).await
}

pub(super) async fn long_text(stage: Stage) -> Outcome {
    stage.attacker.model("doc", r#"{"t":"x"}"#).await;
    let document = json!({"t": megabytes_of_text()}).to_string();
    stage.attacker.create("doc", &document).await;
    searched(&stage, 2, &needles()).await
}

pub(super) async fn long_criterion(stage: Stage) -> Outcome {
    stage.attacker.model("doc", r#"{"t":"x"}"#).await;
    let workflow = json!({"version": "1.1", "name": "judged", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "GO", "next": "DONE", "manual": false, "criterion": needles()}]},
        "DONE": {}}});
    let imported = stage.attacker.workflow("doc", &workflow).await;
    let document = Bytes::from(json!({"t": megabytes_of_text()}).to_string());
    let tally = Tally::default();
    let measured = stage
        .beside(async |stop| {
            hammer(4, stop, &tally, |_| {
                stage
                    .attacker
                    .post("/api/entity/JSON/doc/1", document.clone())
            })
            .await;
        })
        .await;
    let imported = Finding::note(format!("the import was answered {}", imported.status));
    Outcome {
        measured,
        findings: vec![imported, tally.reported("the creates")],
    }
}

pub(super) async fn nested_macros(stage: Stage) -> Outcome {
    let text = r#"
connector "api" {
  type = "rest"
}
saga "paired" {
  from {
    connector = "api"
    operation = "POST /paired"
    filter    = "input.a.exists(x, input.a.exists(y, x + y < 0))"
  }
  step "none" {
    action {
    }
  }
}
"#;
    let bundle = json!({"files": [{"path": "paired.hcl", "text": text}]}).to_string();
    let applied = stage.attacker.prepare("PUT", "/api/bundles/paired", bundle);
    applied.await;
    let numbers: Vec<_> = (0..300).collect();
    let body = Bytes::from(json!({"a": numbers}).to_string());
    let tally = Tally::default();
    let measured = stage
        .beside(async |stop| {
            hammer(4, stop, &tally, |_| {
                stage.attacker.post("/paired", body.clone())
            })
            .await;
        })
        .await;
    Outcome {
        measured,
        findings: vec![tally.reported("the requests")],
    }
}

pub(super) async fn in_list(stage: Stage) -> Outcome {
    stage.attacker.model("doc", r#"{"n":1}"#).await;
    stage
        .attacker
        .create_many("doc", 5_000, |n| json!({ "n": n }))
        .await;
    // None of them is there.
    let numbers: Vec<i64> = (0..99_990).map(|n| 1_000_000 + 7 * n).collect();
    searched(&stage, 2, &leaf("$.n", "IN", json!(numbers))).await
}

pub(super) async fn long_lists(stage: Stage) -> Outcome {
    stage.attacker.model("doc", r#"{"n":1}"#).await;
    stage
        .attacker
        .create_many("doc", 200_000, |n| json!({ "n": n }))
        .await;
    stage.innocent.model("own", r#"{"n":1}"#).await;
    stage.innocent.create("own", r#"{"n":1}"#).await;
    let (tally, short) = (Tally::default(), Tally::default());
    let measured = stage
        .beside(async |stop| {
            let long = hammer(32, stop.clone(), &tally, |client| {
                stage.attacker.get(if client % 2 == 0 {
                    "/api/entity/doc/1?pageSize=10&pageNumber=19999"
                } else {
                    "/api/entity/stats/states"
                })
            });
            let list = hammer(1, stop, &short, |_| {
                stage.innocent.get("/api/entity/own/1?pageSize=1")
            });
            tokio::join!(long, list);
        })
        .await;
    let slowest = short.slowest();
    let text = format!(
        "the slowest of {} short lists of the other tenant took {slowest:.0?}",
        short.total()
    );
    Outcome {
        measured,
        findings: vec![
            tally.reported("the requests"),
            Finding::bound(text, slowest <= Duration::from_millis(150)),
        ],
    }
}
