//! Payloads about definitions of runs (`runs.md` §4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, AsText, RawJson, RequestId, RequiredText, paging::Pagination};
use crate::clock::Timestamp;

#[derive(Deserialize, JsonSchema)]
pub struct Create<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The document: a text of YAML or JSON, or a JSON object; at most 1 MiB.
    #[serde(borrow)]
    pub document: &'a RawValue,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// `flo` or `saga`; all if absent.
    #[serde(default)]
    pub kind: Option<String>,
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

/// A version of a definition, or its latest.
#[derive(Deserialize, JsonSchema)]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub name: String,
    /// The latest if absent.
    #[serde(default)]
    pub version: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct SetEnabled {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub name: String,
    /// The whole name if absent.
    #[serde(default)]
    pub version: Option<String>,
    pub enabled: bool,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Delete {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub name: String,
    /// All versions if absent.
    #[serde(default)]
    pub version: Option<String>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// One statement about a document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Such as `E201`.
    pub code: String,
    /// `error` or `warning`. An error refuses the document.
    pub severity: String,
    pub message: String,
    /// A dotted path, such as `steps.charge.run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// What a creation did.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Change {
    Created,
    /// Runs that start from now on follow this document.
    Replaced,
    Unchanged,
}

/// A definition that is stored.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunDefinitionCreated")]
pub struct Created {
    pub name: String,
    pub version: String,
    /// SHA-256 of the compiled form, in hexadecimal.
    pub digest: String,
    pub change: Change,
    /// The warnings.
    pub findings: Vec<Finding>,
}

impl Answer for Created {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// What there is to say about a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunDefinitionValidated")]
pub struct Validated {
    pub valid: bool,
    pub findings: Vec<Finding>,
    /// When its schedule would start runs next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_fires: Option<Vec<AsText<Timestamp>>>,
}

impl Answer for Validated {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A definition.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunDefinition")]
pub struct Item {
    pub name: String,
    /// `flo` or `saga`.
    pub kind: &'static str,
    /// Of a saga: the bundle that declares it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// The latest version, or the one that was asked for.
    pub version: String,
    /// In the order in which they were created.
    pub versions: Vec<String>,
    /// Whether the name is enabled; single versions may be disabled all the same.
    pub enabled: bool,
    /// Lists show the first 1024 bytes.
    pub description: String,
    /// When the version was created.
    pub created_at: AsText<Timestamp>,
}

/// A page of definitions, by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunDefinitions")]
pub struct Page {
    pub items: Vec<Item>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A definition with its document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunDefinitionDescribed")]
pub struct Described {
    #[serde(flatten)]
    pub item: Item,
    /// SHA-256 of the compiled form, in hexadecimal.
    pub digest: String,
    /// As it was sent: a text or an object.
    pub document: RawJson,
    pub disabled_versions: Vec<String>,
    /// The warnings.
    pub findings: Vec<Finding>,
    /// The names of its plans.
    pub plans: Vec<String>,
    /// How it starts runs by the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// How it starts runs by the events of a topic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
}

/// How a definition starts runs by the clock.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Schedule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    /// Whether it is neither paused nor disabled.
    pub active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_fire_at: Option<AsText<Timestamp>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_fire_at: Option<AsText<Timestamp>>,
    /// How many of its runs have not ended.
    pub running: usize,
    /// How often it started nothing because too many of its runs were live.
    pub skipped: u64,
}

/// How a definition starts runs by the events of a topic.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Trigger {
    pub topic: String,
    /// Where the topic is.
    pub namespace: String,
    pub consumer_group: String,
    /// `shared`, `exclusive` or `key_shared`.
    pub mode: String,
    /// How many events a run takes.
    pub batch_size: u32,
    /// Whether it is not disabled.
    pub active: bool,
    /// The sequence of the last event that has started a run.
    pub position: i64,
    /// How many events have not started a run yet.
    pub lag: i64,
    /// How many events were removed from the topic before they started a run; absent if none were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<i64>,
}

impl Answer for Described {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn extra_bytes(&self) -> usize {
        self.document.as_str().len()
    }
}

/// Which versions of a definition may be started.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunDefinitionEnabled")]
pub struct Enabled {
    pub name: String,
    /// Whether the name is enabled.
    pub enabled: bool,
    /// Versions that are disabled one by one.
    pub disabled_versions: Vec<String>,
}

impl Answer for Enabled {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// Versions of a definition that were deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunDefinitionDeleted")]
pub struct Deleted {
    pub name: String,
    /// How many versions.
    pub deleted: usize,
}

impl Answer for Deleted {
    const REQUEST_ID: RequestId = RequestId::Never;
}
