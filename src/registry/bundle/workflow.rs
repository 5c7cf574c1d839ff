//! State machines as workflows of entities (`orchestration.md` 4.6).

use serde_json::{Map, Value, json};

use super::{Machine, MachineEvent, MachineState};
use crate::expr::Template;
use crate::id::ModelKey;
use crate::workflow::MachineName;

/// The version of a model of which none is named.
const VERSION: i32 = 1;

impl Machine {
    /// How the tag begins of the processors that are actions; the connector follows.
    pub const TAG: &str = "connector:";

    /// The workflow in its documented form.
    pub fn workflow(&self, namespace: &str) -> String {
        let states = self.states.iter();
        let states: Map<String, Value> = states
            .map(|state| (state.name.clone(), self::state(state)))
            .collect();
        let workflow = json!({
            "version": "1",
            "name": self.name,
            "initialState": self.initial,
            "active": true,
            "machine": {"name": self.name, "namespace": namespace},
            "states": states,
        });
        workflow.to_string()
    }
}

fn state(state: &MachineState) -> Value {
    let transitions: Vec<Value> = state.events.iter().map(transition).collect();
    let mut json = json!({ "transitions": transitions });
    if state.is_final {
        json["annotations"] = json!({"final": true});
    }
    json
}

fn transition(event: &MachineEvent) -> Value {
    let mut json = json!({"name": event.name, "next": event.to, "manual": true});
    if let Some(guard) = &event.guard {
        let config = json!({"attachEntity": false, "context": guard});
        let function = json!({"name": MachineName::GUARD, "config": config});
        json["criterion"] = json!({"type": "function", "function": function});
    }
    if let Some(action) = &event.action {
        let config = json!({
            "attachEntity": false,
            "calculationNodesTags": format!("{}{}", Machine::TAG, action.connector),
            "context": shown(&action.request).to_string(),
        });
        json["processors"] = json!([{"name": &*action.connector, "type": "EXTERNAL",
            "executionMode": "SYNC", "config": config}]);
    }
    json
}

/// A template as it is written, for readers of the workflow.
fn shown(template: &Template) -> Value {
    match template {
        Template::Literal(json) => serde_json::from_str(json).unwrap_or_default(),
        Template::Cel(text) | Template::Compute(text) => Value::from(&**text),
        Template::Body => Value::from("input"),
        Template::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (String::from(&**name), shown(value)));
            members.collect::<Map<_, _>>().into()
        }
        Template::Array(items) => items.iter().map(shown).collect(),
        Template::Sum {
            column,
            is_plus,
            value,
        } => {
            let sign = if *is_plus { '+' } else { '-' };
            Value::from(format!("{column} {sign} {}", shown(value)))
        }
    }
}

/// `orders/2`, or `orders`, which is its version 1; none if it cannot be a model.
pub fn of_model(entity: &str) -> Option<ModelKey> {
    match entity.rsplit_once('/') {
        None if entity.is_empty() => None,
        None => Some(ModelKey::new(entity, VERSION)),
        Some((name, version)) => Some(ModelKey::new(name, version.parse().ok()?)),
    }
}
