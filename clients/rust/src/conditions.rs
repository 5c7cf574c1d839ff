//! Short forms of conditions.

use crate::{
    Json,
    api::{
        Condition, GroupCondition, GroupConditionOperator, LifecycleCondition,
        LifecycleConditionField, SimpleCondition, SimpleConditionOperatorType,
    },
};

impl Condition {
    /// Matches every entity.
    pub fn all() -> Self {
        Self::and([])
    }

    /// Matches what matches all of them.
    pub fn and(conditions: impl IntoIterator<Item = Self>) -> Self {
        GroupCondition::new(conditions, GroupConditionOperator::And).into()
    }

    /// Matches what matches one of them.
    pub fn or(conditions: impl IntoIterator<Item = Self>) -> Self {
        GroupCondition::new(conditions, GroupConditionOperator::Or).into()
    }

    /// Compares a field of the document, such as `$.customer.name`, with a value.
    ///
    /// ```
    /// use interlock_client::api::{Condition, SimpleConditionOperatorType as Operator};
    ///
    /// let heavy = Condition::field("$.weight", Operator::GreaterThan, 20);
    /// ```
    pub fn field(
        path: impl Into<String>,
        operator: SimpleConditionOperatorType,
        value: impl Into<serde_json::Value>,
    ) -> Self {
        let value: Json = value.into().into();
        SimpleCondition::new(path, operator).value(value).into()
    }

    /// Matches what is in a state of its workflow.
    pub fn state(state: impl Into<String>) -> Self {
        let value: Json = serde_json::Value::String(state.into()).into();
        LifecycleCondition::new(LifecycleConditionField::State, "EQUALS")
            .value(value)
            .into()
    }
}
