//! Payloads about actions (`runs.md` §5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, RequestId, RequiredText, paging::Pagination};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ActionRegistration")]
pub struct Register {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// 1 to 256 bytes.
    pub name: String,
    /// `user`, if absent: members or workers do it; or `wasm`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// `task`, if absent, or `processor`.
    #[serde(default)]
    pub dispatch: Option<String>,
    /// What a member must have to be sent its tasks.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    /// The `parameters` of a call of a processor.
    #[serde(default)]
    pub context: Option<String>,
    /// How long one delivery may take: 1 to 86400000, 30000 if absent.
    #[serde(default)]
    pub timeout_ms: Option<i64>,
    /// How many deliveries may follow the first: 0 to 100, 3 if absent.
    #[serde(default)]
    pub max_retries: Option<i64>,
    /// The pause before the second delivery, which doubles: 1000 if absent.
    #[serde(default)]
    pub retry_delay_ms: Option<i64>,
    /// How long a task waits for a taker; as the settings say if absent.
    #[serde(default)]
    pub wait_ms: Option<i64>,
    /// As the settings say if absent.
    #[serde(default)]
    pub max_input_bytes: Option<i64>,
    /// 1048576 if absent.
    #[serde(default)]
    pub max_output_bytes: Option<i64>,
    /// True if absent.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Of the type `wasm`: what is called.
    #[serde(default)]
    pub wasm: Option<Module>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// The code of an action in WebAssembly.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ActionModule")]
pub struct Module {
    /// Base64 of the binary module, or of a text in the WebAssembly text format.
    pub module: String,
    /// The exported function that is called; `handle` if absent.
    #[serde(default)]
    pub entrypoint: Option<String>,
    /// At most 16777216, which is the default.
    #[serde(default)]
    pub memory_limit_bytes: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ActionList")]
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

/// An action by its name.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ActionName")]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub name: String,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ActionSetEnabled")]
pub struct SetEnabled {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub name: String,
    pub enabled: bool,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// An action that was registered.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ActionRegistered")]
pub struct Registered {
    pub name: String,
    /// How often it was registered.
    pub version: u64,
    /// Whether the name is new.
    pub created: bool,
}

impl Answer for Registered {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A registered action.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Action")]
pub struct Item {
    pub name: String,
    /// `user` or `wasm`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `task` or `processor`.
    pub dispatch: &'static str,
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    pub timeout_ms: u64,
    pub max_retries: u32,
    pub retry_delay_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_input_bytes: Option<u64>,
    pub max_output_bytes: u64,
    pub enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wasm: Option<Wasm>,
    /// How often it was registered.
    pub version: u64,
    /// How many of its tasks wait for a taker.
    pub pending: usize,
    /// How many of its tasks a member or worker has.
    pub running: usize,
}

/// How an action in WebAssembly is called.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Wasm {
    /// The function that is called.
    pub entrypoint: String,
    pub memory_limit_bytes: u64,
}

impl Answer for Item {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A page of actions, by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Actions")]
pub struct Page {
    pub items: Vec<Item>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// Whether an action is enabled.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ActionEnabled")]
pub struct Enabled {
    pub name: String,
    pub enabled: bool,
}

impl Answer for Enabled {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// An action that was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ActionDeleted")]
pub struct Deleted {
    pub name: String,
}

impl Answer for Deleted {
    const REQUEST_ID: RequestId = RequestId::Never;
}
