//! The JSON form of a condition, as it is told to those who write one.
//!
//! It is read by [`super::parse`], which is more lenient: it takes other spellings too.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{LifecycleField, Operator};

/// A predicate over an entity. A group of no conditions holds for every entity.
#[derive(JsonSchema)]
#[schemars(
    rename = "Condition",
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum Form {
    /// Compares a field of the document.
    Simple {
        /// Names the field, like `$.customer.name` or `$.lines[*].sku`.
        json_path: String,
        #[schemars(schema_with = "operator")]
        operator_type: String,
        /// What to compare with: a value, a list of two for a range, nothing for `IS_NULL`.
        #[schemars(default)]
        value: Value,
    },
    /// Compares what is known about the entity.
    Lifecycle {
        #[schemars(schema_with = "field")]
        field: String,
        #[schemars(schema_with = "operator")]
        operator_type: String,
        /// What to compare with.
        #[schemars(default)]
        value: Value,
    },
    /// Joins conditions.
    Group {
        /// `AND`: all hold. `OR`: one holds. `NOT`: none holds.
        #[schemars(schema_with = "connective")]
        operator: String,
        conditions: Vec<Self>,
    },
    /// Compares the elements of a list, by their places.
    Array {
        json_path: String,
        /// The elements; null for any.
        values: Vec<Value>,
    },
    /// Asks a compute member. In criteria of workflows only.
    Function { function: FunctionForm },
}

/// A question to a compute member.
#[derive(JsonSchema)]
#[schemars(rename = "ConditionFunction")]
pub struct FunctionForm {
    /// What members know it by.
    pub name: String,
    /// How it is called: `calculationNodesTags`, `attachEntity`, `context`, `responseTimeoutMs`.
    #[schemars(default)]
    pub config: Option<serde_json::Map<String, Value>>,
    /// If this does not hold, nobody is asked and the answer is no.
    #[schemars(default)]
    pub criterion: Option<Box<Form>>,
}

fn operator(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = Operator::ALL
        .iter()
        .map(|operator| operator.as_str())
        .collect();
    json_schema!({"type": "string", "enum": names})
}

fn field(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = LifecycleField::ALL
        .iter()
        .map(|field| field.as_str())
        .collect();
    json_schema!({"type": "string", "enum": names})
}

fn connective(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["AND", "OR", "NOT"]})
}
