//! Payloads of reads (`grpc.md` §8.3).

use std::{borrow::Cow, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use super::image::{CommittedMeta, Entity, EntityPayload, Meta};
use super::{Answer, AsText, ModelSpec, RequestId, RequiredText, model::IndexState};
use crate::clock::Timestamp;
pub use crate::condition::Form as Condition;
use crate::entity::{Change, ChangeKind};
use crate::error::{Code, Failure};
use crate::id::{JobId, StateName, TransactionId, TransitionName};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Get {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub entity_id: String,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub transaction_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetAll {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(default)]
    pub page_size: Option<i64>,
    #[serde(default)]
    pub page_number: Option<i64>,
    #[serde(default)]
    pub point_in_time: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Search<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(borrow)]
    #[schemars(with = "Condition")]
    pub condition: &'a RawValue,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
    /// What more matches than the limit mean; ours, so that REST can say what it means.
    #[serde(default)]
    pub limit_exceeded: Option<LimitExceeded>,
    #[serde(default)]
    pub order_by: Option<Vec<OrderBy>>,
    #[serde(default)]
    pub tracking_read: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum LimitExceeded {
    Fail,
    Truncate,
}

/// A sort key; as text in the form of REST: `[@]path[:asc|:desc]`.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a sort key must be `{path, source?, desc?}`, or a text like `path:desc`"
)]
pub enum OrderBy {
    Key(OrderKey),
    Text(String),
}

#[derive(Deserialize, JsonSchema)]
pub struct OrderKey {
    pub path: String,
    #[serde(default)]
    pub source: Option<OrderSource>,
    #[serde(default)]
    pub desc: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrderSource {
    Data,
    Meta,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    #[serde(rename = "id")]
    _id: RequiredText,
    #[serde(default)]
    pub model: Option<ModelSpec>,
    #[serde(default)]
    pub states: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub entity_id: String,
    #[serde(default)]
    pub point_in_time: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotSearch<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(borrow)]
    #[schemars(with = "Condition")]
    pub condition: &'a RawValue,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub order_by: Option<Vec<OrderBy>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub snapshot_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotPage {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub snapshot_id: String,
    #[serde(default)]
    pub page_size: Option<i64>,
    #[serde(default)]
    pub page_number: Option<i64>,
}

/// Reads the id of a search that runs on its own.
pub fn snapshot_id(text: &str) -> Result<JobId, Failure> {
    text.parse()
        .map_err(|_| Failure::new(Code::SearchJobNotFound, format!("no search job {text}")))
}

/// The answer about a search that runs on its own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Snapshot")]
pub struct SnapshotAnswer {
    pub status: SnapshotStatus,
}

impl Answer for SnapshotAnswer {
    const REQUEST_ID: RequestId = RequestId::Never;

    fn placeholder() -> Option<Self> {
        Some(Self {
            status: SnapshotStatus {
                snapshot_id: AsText(JobId::NIL),
                status: "FAILED".into(),
                known: None,
                finish_time: None,
            },
        })
    }
}

/// The status of a search that runs on its own.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotStatus {
    pub snapshot_id: AsText<JobId>,
    #[schemars(extend("enum" = ["RUNNING", "SUCCESSFUL", "FAILED", "CANCELLED"]))]
    pub status: Cow<'static, str>,
    /// Absent if the request failed.
    #[serde(flatten)]
    pub known: Option<SnapshotProgress>,
    /// When it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_time: Option<AsText<Timestamp>>,
}

/// What REST says of such a search, too.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct SnapshotProgress {
    /// Until when its result is kept; an estimate, while it runs.
    pub expiration_date: AsText<Timestamp>,
    /// How many entities were found; 0 until all are.
    pub entities_count: i64,
    pub create_time: AsText<Timestamp>,
    pub calculation_time_millis: u64,
}

/// Which of how many entities are on a page.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    pub number: i64,
    pub size: i64,
    pub total_elements: i64,
    pub total_pages: i64,
}

impl Page {
    pub fn new(number: i64, size: i64, total: i64) -> Self {
        Self {
            number,
            size,
            total_elements: total,
            total_pages: (total + size.max(1) - 1) / size.max(1),
        }
    }
}

/// How a search is served.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchExplanation")]
pub struct Explanation {
    access: SearchAccess,
    /// The paths of the indexes that served it; `state`, if it was found by that.
    served_by: Vec<String>,
    /// How many entities were read.
    visited: usize,
    returned: usize,
    /// How long it took, in microseconds.
    micros: u64,
    /// The paths by which an index could serve it.
    indexable: Vec<String>,
    /// The indexes of the model.
    indexes: Vec<IndexState>,
}

/// `SCAN`: every entity of the model was read.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
enum SearchAccess {
    Index,
    Scan,
}

impl Explanation {
    /// A search that read and returned so many entities in a time.
    pub fn new(served_by: Vec<String>, visited: usize, returned: usize, took: Duration) -> Self {
        Self {
            access: if served_by.is_empty() {
                SearchAccess::Scan
            } else {
                SearchAccess::Index
            },
            served_by,
            visited,
            returned,
            micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            indexable: Vec::new(),
            indexes: Vec::new(),
        }
    }

    /// The indexes of the model, and the paths that an index could serve this search by.
    #[must_use]
    pub fn with_indexes(self, indexes: Vec<IndexState>, indexable: Vec<String>) -> Self {
        Self {
            indexable,
            indexes,
            ..self
        }
    }
}

impl Answer for Explanation {
    const REQUEST_ID: RequestId = RequestId::OnSuccess;
}

/// List the transitions of an entity's state.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeclaredTransitions")]
pub struct Transitions {
    pub transitions: Vec<AsText<TransitionName>>,
}

impl Answer for Transitions {
    fn placeholder() -> Option<Self> {
        Some(Self {
            transitions: Vec::new(),
        })
    }
}

/// Count the entities of a model.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelStats")]
pub struct Count {
    pub model_name: Arc<str>,
    pub model_version: i32,
    pub count: i64,
}

impl Answer for Count {
    fn placeholder() -> Option<Self> {
        Some(Self {
            model_name: "".into(),
            model_version: 0,
            count: 0,
        })
    }
}

/// How many entities of a model are in a state.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelStateStats")]
pub struct CountInState {
    pub model_name: Arc<str>,
    pub model_version: i32,
    pub state: AsText<StateName>,
    pub count: i64,
}

impl Answer for CountInState {
    fn placeholder() -> Option<Self> {
        Some(Self {
            model_name: "".into(),
            model_version: 0,
            state: AsText("".into()),
            count: 0,
        })
    }
}

/// Who made a change: the one to whom it is attributed, or another on behalf of that one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Executor {
    id: Arc<str>,
    #[schemars(extend("enum" = ["user", "service", "system"]))]
    kind: &'static str,
}

impl Executor {
    pub(super) fn of(change: &Change) -> Self {
        let executor = change.executor();
        Self {
            id: Arc::clone(&executor.name),
            kind: executor.kind.as_str(),
        }
    }
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum ChangeType {
    Create,
    Update,
    Delete,
}

impl ChangeType {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

impl From<ChangeKind> for ChangeType {
    fn from(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Create => Self::Create,
            ChangeKind::Update => Self::Update,
            ChangeKind::Delete => Self::Delete,
        }
    }
}

/// One change of an entity.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EntityChanged")]
pub struct Changed {
    pub change_meta: ChangeMeta,
}

// Without a placeholder: clients check that the type of a change is a documented one.
impl Answer for Changed {}

/// List the changes of an entity.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeMeta {
    /// Absent from a deletion, as documented; the answer to the deletion names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<AsText<TransactionId>>,
    time_of_change: AsText<Timestamp>,
    /// To whom it is attributed.
    user: Arc<str>,
    change_type: ChangeType,
    #[schemars(extend("enum" = ["user", "service", "system"]))]
    attributed_kind: &'static str,
    executed_by: Executor,
}

impl Changed {
    pub fn new(change: &Change) -> Self {
        Self {
            change_meta: ChangeMeta {
                transaction_id: (change.kind != ChangeKind::Delete)
                    .then_some(AsText(change.transaction)),
                time_of_change: AsText(change.at),
                user: Arc::clone(&change.author.name),
                change_type: change.kind.into(),
                attributed_kind: change.author.kind.as_str(),
                executed_by: Executor::of(change),
            },
        }
    }
}
