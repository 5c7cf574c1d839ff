//! Payloads about what happened (`stream.md` §3, `rest.md` §5).

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Object, RequiredText, list, search::executor, success};
use crate::clock::Timestamp;
use crate::entity::{Change, ChangeKind};
use crate::id::{EntityId, Tenant, TransactionId};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub entity_id: String,
    /// `StateMachine`, `EntityChange`, `System`; others are ignored.
    #[serde(default, alias = "eventType")]
    pub event_types: Option<Vec<String>>,
    #[serde(default)]
    pub severity: Option<String>,
    #[serde(default)]
    pub from_utc_time: Option<String>,
    #[serde(default)]
    pub to_utc_time: Option<String>,
    #[serde(default)]
    pub transaction_id: Option<String>,
    /// How many items to skip, as a decimal number; anything else is 0.
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetFinished {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub entity_id: String,
    pub transaction_id: String,
}

/// Something a state machine did, as it is told.
pub struct Machine<'a> {
    pub kind: &'a str,
    pub state: Option<&'a str>,
    pub details: &'a str,
    pub data: &'a Value,
    pub at: Timestamp,
    pub transaction: TransactionId,
}

fn item(kind: &str, at: Timestamp) -> Object {
    Object::new()
        .text("auditEventType", kind)
        .text("severity", "INFO")
        .text("utcTime", &at.to_string())
        .number("microsTime", at.micros())
}

pub fn machine(entity: EntityId, event: &Machine<'_>) -> String {
    let mut object = item("StateMachine", event.at)
        .text("entityId", &entity.to_string())
        .text("eventType", event.kind)
        .text("transactionId", &event.transaction.to_string());
    if let Some(state) = event.state {
        object = object.text("state", state);
    }
    object
        .text("details", event.details)
        .raw("data", &event.data.to_string())
        .finish()
}

pub fn change(entity: EntityId, tenant: &Tenant, change: &Change) -> String {
    let actor = Object::new()
        .text("id", &change.author.name)
        .text("name", &change.author.name)
        .text("legalId", tenant.as_str());
    let object = item("EntityChange", change.at).text("changeType", change.kind.as_str());
    let object = match change.kind {
        // Documented so (`rest.md` §5).
        ChangeKind::Delete => object,
        ChangeKind::Create | ChangeKind::Update => object
            .text("entityId", &entity.to_string())
            .text("transactionId", &change.transaction.to_string()),
    };
    object
        .raw("system", "false")
        .raw("actor", &actor.finish())
        .raw("executedBy", &executor(change))
        .finish()
}

/// Some items; `next` is the cursor of the rest.
pub fn page(request: &str, items: &[String], next: Option<usize>) -> String {
    let mut pagination =
        Object::new().raw("hasNext", if next.is_some() { "true" } else { "false" });
    if let Some(next) = next {
        pagination = pagination.text("nextCursor", &next.to_string());
    }
    success(request, &[])
        .text("requestId", request)
        .raw("items", &list(items))
        .raw("pagination", &pagination.finish())
        .finish()
}

pub fn finished(request: &str, item: &str) -> String {
    success(request, &[])
        .text("requestId", request)
        .raw("item", item)
        .finish()
}
