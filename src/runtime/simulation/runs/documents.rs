//! Random documents of the runs.
#![cfg(test)]

use serde_json::{Map, Value, json};

use crate::dialect::flo::generate::{Chance, document};

/// The definitions that clients start. `leaf` has no children; a schedule starts `timed`, a
/// trigger `fed`.
pub(super) const NAMES: [&str; 5] = ["one", "two", "leaf", "timed", "fed"];

/// How many runs of the schedule may be live.
pub(super) const LIVE_MAX: usize = 2;

/// A document of that name without errors.
pub(super) fn random(chance: &mut Chance, name: &str) -> Value {
    let mut document = document(chance);
    let members = document.as_object_mut().expect("an object");
    members.remove("schedule");
    members.remove("trigger");
    members.insert("name".to_owned(), name.into());
    members.insert("version".to_owned(), (*chance.pick(&["1", "2"])).into());
    if let Some(Value::Object(start)) = members.get_mut("start") {
        adapt(chance, "start", start, name);
    }
    if let Some(Value::Object(steps)) = members.get_mut("steps") {
        for (step, of_it) in steps {
            adapt(chance, step, of_it.as_object_mut().expect("a step"), name);
        }
    }
    match name {
        "timed" => {
            let schedule = json!({"interval": 300, "max_concurrent": LIVE_MAX});
            members.insert("schedule".to_owned(), schedule);
        }
        "fed" => {
            let mode = *chance.pick(&["shared", "exclusive", "key_shared"]);
            let size = 1 + chance.below(3);
            let trigger = json!({"stream": "orders", "mode": mode, "batch_size": size,
                "batch_timeout_ms": 200});
            members.insert("trigger".to_owned(), trigger);
        }
        _ => {}
    }
    document
}

/// Has steps start the children that there are, and some work on entities.
fn adapt(chance: &mut Chance, step: &str, members: &mut Map<String, Value>, name: &str) {
    let Some(target) = members.get("run").and_then(Value::as_str) else {
        return;
    };
    if target.starts_with("@workflow/") {
        let child = if name == "leaf" {
            "@actions/look"
        } else {
            "@workflow/leaf"
        };
        members.insert("run".to_owned(), child.into());
        return;
    }
    if !target.starts_with("@actions/") || !chance.one_in(3) {
        return;
    }
    let (work, input) = match chance.below(5) {
        0 => (
            "search",
            json!({"model": {"name": "e", "version": 1}, "limit": 3,
                "condition": {"type": "simple", "jsonPath": "run", "operatorType": "EQUALS",
                    "value": "$.flo.run_id"}}),
        ),
        1 => (
            "await",
            json!({"entityId": "$.input.entity", "states": ["GONE"], "timeoutMs": 700}),
        ),
        _ => (
            "create",
            json!({"model": {"name": "e", "version": 1},
                "data": {"run": "$.flo.run_id", "step": step}}),
        ),
    };
    for other in ["input_mapping", "poll"] {
        members.remove(other);
    }
    members.insert("run".to_owned(), format!("@entity/{work}").into());
    members.insert("inputMapping".to_owned(), input);
}
