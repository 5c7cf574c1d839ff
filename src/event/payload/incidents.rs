//! Payloads about incidents: work that has stopped after it failed too often (`runs.md` §11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, AsText, RequestId, RequiredText, paging::Pagination};
use crate::clock::Timestamp;

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "IncidentsGet")]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// `run`, `timer` or `producer`; all of them if absent.
    #[serde(default)]
    pub kind: Option<String>,
    /// How many items, 1 to 1000; 100 if absent.
    #[serde(default)]
    pub limit: Option<i64>,
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "IncidentNamed")]
pub struct Named {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub incident_id: String,
}

/// Work that has stopped after it failed too often.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Incident")]
pub struct Incident {
    pub incident_id: String,
    /// `run`, `timer` (a timer of an entity, or a cascade that a crash interrupted) or `producer` (a
    /// schedule or a trigger).
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// The definition of a run, schedule or trigger; the transition of a timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why it failed last.
    pub reason: String,
    /// How often it failed.
    pub tries: u32,
    /// When it failed first.
    pub since: AsText<Timestamp>,
}

/// A page of incidents, by their ids.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentPage")]
pub struct Page {
    pub items: Vec<Incident>,
    pub pagination: Pagination,
}

/// An incident that is closed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "IncidentClosed")]
pub struct Closed {
    pub incident_id: String,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}

impl Answer for Closed {
    const REQUEST_ID: RequestId = RequestId::Never;
}
