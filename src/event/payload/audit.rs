//! Payloads about what happened (`stream.md` §3, `rest.md` §5).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Answer, AsText, RequestId, RequiredText,
    search::{ChangeType, Executor},
};
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

/// A page of the audit trail of an entity, the newest event first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AuditPage")]
pub struct Page {
    pub items: Vec<Item>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Pagination {
    pub has_next: bool,
    /// The `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl Pagination {
    /// The cursor of the next page is how many items come before it.
    pub fn new(next: Option<usize>) -> Self {
        Self {
            has_next: next.is_some(),
            next_cursor: next.map(|next| next.to_string()),
        }
    }
}

/// The last event of the workflow run of a transaction.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FinishedEvent")]
pub struct Finished {
    pub item: Item,
}

impl Answer for Finished {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

/// Something that happened to an entity.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "auditEventType")]
#[schemars(rename = "AuditEvent")]
pub enum Item {
    EntityChange(EntityChange),
    StateMachine(StateMachine),
}

/// The members of every item.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Instant {
    severity: Severity,
    utc_time: AsText<Timestamp>,
    /// The same instant, in microseconds since 1970.
    micros_time: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
enum Severity {
    Info,
}

impl Instant {
    pub const fn at(at: Timestamp) -> Self {
        Self {
            severity: Severity::Info,
            utc_time: AsText(at),
            micros_time: at.micros(),
        }
    }
}

/// The workflow did something.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct StateMachine {
    #[serde(flatten)]
    pub instant: Instant,
    pub entity_id: AsText<EntityId>,
    /// `STATE_MACHINE_START`, `TRANSITION_MAKE` and so on.
    pub event_type: &'static str,
    pub transaction_id: AsText<TransactionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// In words.
    pub details: String,
    /// The same, for programs.
    pub data: Value,
}

/// A version was written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct EntityChange {
    #[serde(flatten)]
    instant: Instant,
    change_type: ChangeType,
    /// Absent from a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    entity_id: Option<AsText<EntityId>>,
    /// Absent from a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<AsText<TransactionId>>,
    system: bool,
    actor: Actor,
    executed_by: Executor,
}

/// To whom the change is attributed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Actor {
    id: Arc<str>,
    name: Arc<str>,
    legal_id: Arc<str>,
}

impl EntityChange {
    pub fn new(entity: EntityId, tenant: &Tenant, change: &Change) -> Self {
        // A deletion is documented without them (`rest.md` §5).
        let is_named = change.kind != ChangeKind::Delete;
        Self {
            instant: Instant::at(change.at),
            change_type: change.kind.into(),
            entity_id: is_named.then_some(AsText(entity)),
            transaction_id: is_named.then_some(AsText(change.transaction)),
            system: false,
            actor: Actor {
                id: Arc::clone(&change.author.name),
                name: Arc::clone(&change.author.name),
                legal_id: tenant.shared(),
            },
            executed_by: Executor::of(change),
        }
    }
}
