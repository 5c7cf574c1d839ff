//! Payloads about bundles and state machines (`runs.md` §7).

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Answer, AsText, RawJson, RequestId, RequiredText,
    definitions::{Change, Finding},
    paging::Pagination,
};
use crate::clock::Timestamp;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BundleApplication")]
pub struct Apply {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The name of the bundle; if absent, that of the block `service`, else `default`.
    #[serde(default)]
    pub bundle: Option<String>,
    /// At most 200 files, of 4 MiB together. Those that do not end with `.hcl` are templates of
    /// mails.
    pub files: Vec<File>,
    /// The values of `env()`. They are sealed, and never answered.
    #[serde(default)]
    pub variables: Option<BTreeMap<String, String>>,
    /// Whether nothing is stored; false if absent.
    #[serde(default)]
    pub dry_run: Option<bool>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// A file of a bundle.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BundleFile")]
pub struct File {
    /// The name under which findings show it.
    pub path: String,
    pub text: String,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "BundleSelection")]
pub struct Select {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub bundle: String,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "BundleListing")]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// How many items, 1 to 1000; 100 if absent.
    #[serde(default)]
    pub limit: Option<i64>,
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// A bundle that was applied, or would be.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BundleApplied")]
pub struct Applied {
    pub bundle: String,
    /// Rises by one with each change.
    pub version: u64,
    pub change: Change,
    pub sagas: Vec<String>,
    pub machines: Vec<String>,
    /// Such as `POST /orders/:id`.
    pub routes: Vec<String>,
    pub connectors: Vec<String>,
    /// What the bundle declared before and no longer declares, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<Removed>,
    /// The warnings.
    pub findings: Vec<Finding>,
}

/// What a bundle no longer declares, by name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Removed {
    pub sagas: Vec<String>,
    pub machines: Vec<String>,
    /// Such as `POST /orders/:id`.
    pub routes: Vec<String>,
    pub connectors: Vec<String>,
}

impl Removed {
    /// Each name with its kind, such as `saga create_order`.
    pub fn named(&self) -> Vec<String> {
        let kinds = [
            ("saga", &self.sagas),
            ("state machine", &self.machines),
            ("route", &self.routes),
            ("connector", &self.connectors),
        ];
        let named = kinds.iter().flat_map(|(kind, names)| {
            let named = names.iter();
            named.map(move |name| format!("{kind} {name}"))
        });
        named.collect()
    }
}

impl Answer for Applied {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A bundle.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Bundle")]
pub struct Item {
    pub bundle: String,
    pub version: u64,
    pub sagas: Vec<String>,
    pub machines: Vec<String>,
    pub routes: Vec<String>,
    pub connectors: Vec<String>,
    /// The warnings.
    pub findings: Vec<Finding>,
    pub applied_at: AsText<Timestamp>,
}

/// A page of bundles, by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Bundles")]
pub struct Page {
    pub items: Vec<Item>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A bundle with its files as they were sent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BundleDescribed")]
pub struct Described {
    #[serde(flatten)]
    pub item: Item,
    pub files: Vec<File>,
}

impl Answer for Described {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn extra_bytes(&self) -> usize {
        self.files.iter().map(|file| file.text.len()).sum()
    }
}

/// A bundle that was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BundleDeleted")]
pub struct Deleted {
    pub bundle: String,
}

impl Answer for Deleted {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A state machine.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Machine")]
pub struct Machine {
    pub machine: String,
    pub bundle: String,
    pub initial: String,
    /// In the order of its block.
    pub states: Vec<String>,
}

/// A page of state machines, by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Machines")]
pub struct Machines {
    pub items: Vec<Machine>,
    pub pagination: Pagination,
}

impl Answer for Machines {
    const REQUEST_ID: RequestId = RequestId::Never;
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MachineEvent")]
pub struct Fire<'a> {
    /// The id of the row or the entity, unless `entityId` has it; then it is anything,
    /// conventionally the id of the event.
    #[schemars(schema_with = "row_id")]
    #[serde(borrow)]
    pub id: &'a RawValue,
    /// The name of a state machine.
    pub machine: String,
    /// The table; without a database, the model, such as `orders/1`, whose version is 1 if absent.
    pub entity: String,
    /// The id of the row or the entity.
    #[schemars(schema_with = "row_id")]
    #[serde(default, borrow)]
    pub entity_id: Option<&'a RawValue>,
    pub event: String,
    /// What guards and actions read as `input`: an object, at most 1 MiB; `{}` if absent.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    #[serde(default, borrow)]
    pub data: Option<&'a RawValue>,
    /// The connector of the database with the table; that of the first flow that names the state
    /// machine if absent.
    #[serde(default)]
    pub connector: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

fn row_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "number"]})
}

/// A row or an entity that an event has moved to another state.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MachineTransition")]
pub struct Fired {
    pub entity_id: String,
    pub machine: String,
    pub previous_state: String,
    pub current_state: String,
    pub event: String,
    /// The result of the action, if there is one.
    #[schemars(with = "Option<RawJson>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_result: Option<Box<RawValue>>,
}

impl Answer for Fired {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn extra_bytes(&self) -> usize {
        self.action_result
            .as_ref()
            .map_or(0, |result| result.get().len())
    }
}
