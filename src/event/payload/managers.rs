//! Payloads about managers (`runs.md` §8).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, RawJson, RequestId, RequiredText, paging::Pagination};

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ManagerCreation")]
pub struct Create<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The manager: an object of at most 1 MiB with `configuration_code`, `user_code` and `workers`.
    #[serde(borrow)]
    pub document: &'a RawValue,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ManagerSelection")]
pub struct Select {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The name of its file.
    pub manager: String,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ManagerListing")]
pub struct List {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// Only managers of this status: to-do, in-progress, done, paused or error.
    #[serde(default)]
    pub status: Option<String>,
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

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ManagerTicking")]
pub struct Tick {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// Which managers; all that are in progress if absent.
    #[serde(default)]
    pub payload: Option<TickPayload>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// Which managers a tick is about.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ManagerTickPayload")]
pub struct TickPayload {
    /// The names of their files.
    #[serde(default)]
    pub managers: Option<Vec<String>>,
    /// The path of the file of one.
    #[serde(default)]
    pub state_path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ManagerControlling")]
pub struct Control {
    #[serde(rename = "id")]
    _id: RequiredText,
    /// The name of its file.
    pub manager: String,
    /// `pause`, `resume` or `reset`.
    pub r#do: String,
    /// Of a reset: the `order` or the `user_code` of a worker; all workers if absent.
    #[serde(default)]
    pub worker: Option<Named>,
    /// Of a reset: the place or the name of an item; all that ended `error` if absent.
    #[serde(default)]
    pub item: Option<Named>,
    /// `default` if absent.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// A part of a manager, by its number or its name.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ManagerPart")]
pub enum Named {
    Number(i64),
    Name(String),
}

/// A manager that was made.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ManagerCreated")]
pub struct Created {
    /// The name of its file, with a stamp.
    pub manager: String,
    pub version: String,
}

impl Answer for Created {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// A manager as it is written.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Manager")]
pub struct Shown {
    pub manager: String,
    pub document: RawJson,
    pub version: String,
}

impl Answer for Shown {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn extra_bytes(&self) -> usize {
        self.document.as_str().len()
    }
}

/// A manager in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListedManager")]
pub struct Item {
    /// The name of its file.
    pub manager: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Absent if the file is not a manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// How many workers there are, in all as `total` and by status.
    pub workers: BTreeMap<String, usize>,
    pub version: String,
    /// Why the file is not a manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A page of managers, by the names of their files.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Managers")]
pub struct Page {
    pub items: Vec<Item>,
    pub pagination: Pagination,
}

impl Answer for Page {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// What a tick has done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ManagersTicked")]
pub struct Ticked {
    /// The names of the files of managers by list: to-do, in-progress, done, paused.
    pub registry: BTreeMap<String, Vec<String>>,
    pub processed: Vec<Processed>,
}

impl Answer for Ticked {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// What a tick has done with one manager.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ManagerTicked")]
pub struct Processed {
    pub manager: String,
    /// Absent if its file is not a manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Whether its file was written.
    pub changed: bool,
    pub started: Vec<Started>,
    /// Why nothing was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Work that was started for an item.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StartedItem")]
pub struct Started {
    /// The `order` of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<i64>,
    /// The place of the item in the worker, from 0.
    pub item: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

/// A manager that was controlled.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ManagerControlled")]
pub struct Controlled {
    pub manager: String,
    pub status: String,
    /// The items that were reset.
    pub changed: Vec<Changed>,
}

impl Answer for Controlled {
    const REQUEST_ID: RequestId = RequestId::Never;
}

/// An item that was reset.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ChangedItem")]
pub struct Changed {
    /// The `order` of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<i64>,
    /// The place of the item in the worker, from 0.
    pub item: usize,
}
