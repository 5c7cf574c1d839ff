//! The JSON form of a condition, as it is documented for authors.
//!
//! [`super::parse`] reads it and is more lenient: it accepts other spellings as well.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{LifecycleField, Operator};

/// A condition on an entity. An empty `AND` group matches every entity.
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
        /// The path of the field, such as `$.customer.name` or `$.lines[*].sku`.
        json_path: String,
        #[schemars(schema_with = "operator")]
        operator_type: String,
        /// The operand: a value, a list of two values for a range, nothing for `IS_NULL`.
        #[schemars(default)]
        value: Value,
    },
    /// Compares a field of the entity's metadata.
    Lifecycle {
        #[schemars(schema_with = "field")]
        field: String,
        #[schemars(schema_with = "operator")]
        operator_type: String,
        /// The operand.
        #[schemars(default)]
        value: Value,
    },
    /// Combines conditions.
    Group {
        /// `AND`: all hold. `OR`: one holds. `NOT`: none holds.
        #[schemars(schema_with = "connective")]
        operator: String,
        conditions: Vec<Self>,
    },
    /// Compares the elements of a list by position.
    Array {
        json_path: String,
        /// The expected elements; null matches any.
        values: Vec<Value>,
    },
    /// Calls a compute member. In workflow criteria only.
    Function { function: FunctionForm },
}

/// A function of a compute member.
#[derive(JsonSchema)]
#[schemars(rename = "ConditionFunction")]
pub struct FunctionForm {
    /// The name that members register.
    pub name: String,
    /// How the member is called: `calculationNodesTags`, `attachEntity`, `context`, `responseTimeoutMs`.
    #[schemars(default)]
    pub config: Option<serde_json::Map<String, Value>>,
    /// Evaluated first; if it does not hold, no member is called and the result is false.
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
