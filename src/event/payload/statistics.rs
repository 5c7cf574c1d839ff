//! Payloads of grouped statistics (`search.md` §8).

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Answer, Float, ModelSpec, RequiredText, search::Condition};

/// Strict: what it does not know was meant to say something.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Query<'a> {
    #[serde(rename = "id")]
    _id: RequiredText,
    pub model: ModelSpec,
    #[serde(default)]
    pub group_by: Option<Vec<String>>,
    #[serde(borrow, default)]
    #[schemars(with = "Option<Condition>")]
    pub condition: Option<&'a RawValue>,
    #[serde(default)]
    pub aggregations: Option<Vec<Aggregation>>,
    #[serde(default)]
    pub point_in_time: Option<String>,
    #[serde(default)]
    pub limit: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aggregation {
    /// `sum`, `avg`, `min`, `max` or `stdev`.
    #[serde(default)]
    pub op: Option<String>,
    /// The path of a number.
    #[serde(default)]
    pub field: Option<String>,
    /// Its name; by default the operation and the path.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
}

/// Grouped statistics.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GroupedStats")]
pub struct Buckets {
    /// The groups, that of most entities first.
    pub buckets: Vec<Bucket>,
}

impl Answer for Buckets {
    fn placeholder() -> Option<Self> {
        Some(Self {
            buckets: Vec::new(),
        })
    }
}

/// One group of entities.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StatsGroup")]
pub struct Bucket {
    /// What it is grouped by, and the value of each.
    pub group_key: Vec<GroupKey>,
    /// How many entities it has.
    pub count: u64,
    /// By their names; null where there is no number. Absent if none was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Option<Float>>>")]
    pub aggregations: Option<Aggregated>,
}

/// A value that the entities of a group have in common.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StatsGroupKey")]
pub struct GroupKey {
    pub path: Arc<str>,
    /// As text; null where it is missing or not a scalar.
    pub value: Option<Box<str>>,
}

/// Numbers by their names, in the order of the request.
#[derive(Debug)]
pub struct Aggregated(pub Vec<(Arc<str>, Option<f64>)>);

impl Serialize for Aggregated {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = self.0.iter();
        serializer.collect_map(numbers.map(|(name, number)| (name, number.map(Float))))
    }
}
