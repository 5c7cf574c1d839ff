//! The functions that take the place of what the library has: each knows what it costs.

use std::sync::Arc;

use ::cel::{
    Context, ExecutionError, Value,
    extractors::This,
    objects::{Key, Map},
};

use super::{meter::Costs, pattern};
use crate::expr::Budget;

/// What the list of a macro passes through. No text can name these functions.
pub(super) const ROUNDS: &str = "@rounds";

/// In place of `matches`.
pub(super) const MATCHES: &str = "@matches";

/// In place of `in`, which copies the value that it looks for at each element of another kind.
pub(super) const MEMBER: &str = "@member";

/// In place of `/`: JSON has one kind of number, so 5 divided by 2 is 2.5.
pub(super) const DIVIDE: &str = "@divide";

/// What a time passes through that a text gives: its parts are those in UTC.
pub(super) const UTC: &str = "@utc";

/// Adds the functions to a context in which an expression is evaluated once.
pub(super) fn add(
    context: &mut Context<'_, '_>,
    costs: Costs,
    budget: Arc<Budget>,
) -> Result<(), ExecutionError> {
    let for_rounds = Arc::clone(&budget);
    let rounds = move |at: i64, outer: Arc<Vec<Value>>, list: Value| {
        costs.spend(at, &outer, &list, &for_rounds);
        in_order(list)
    };
    let matches = move |This(text): This<Arc<String>>, pattern: Arc<String>| {
        pattern::matches(&text, &pattern, &budget)
            .map_err(|error| ExecutionError::function_error("matches", error))
    };
    let added = context
        .add_function(ROUNDS, rounds)
        .and_then(|()| context.add_function(MATCHES, matches))
        .and_then(|()| context.add_function(MEMBER, member))
        .and_then(|()| context.add_function(DIVIDE, divide))
        .and_then(|()| context.add_function(UTC, utc));
    added.map_err(|error| ExecutionError::function_error("", error))
}

/// What a macro goes through: of a map its keys, always in the same order.
fn in_order(list: Value) -> Value {
    let Value::Map(map) = &list else {
        return list;
    };
    let mut keys: Vec<_> = map.map.keys().collect();
    keys.sort_unstable();
    let keys = keys.into_iter().map(|key| match key {
        Key::Int(key) => Value::Int(*key),
        Key::Uint(key) => Value::UInt(*key),
        Key::Bool(key) => Value::Bool(*key),
        Key::String(key) => Value::String(Arc::clone(key)),
    });
    Value::List(Arc::new(keys.collect()))
}

/// Divides numbers as doubles. A quotient of whole numbers that has no fraction keeps its digits.
fn divide(left: Value, right: Value) -> Result<Value, ExecutionError> {
    if let (Value::Int(left), Value::Int(right)) = (&left, &right)
        && left.checked_rem(*right) == Some(0)
    {
        return Ok(Value::Int(left / right));
    }
    match (as_double(&left), as_double(&right)) {
        (Some(_), Some(0.0)) => Err(ExecutionError::DivisionByZero(left)),
        (Some(left), Some(right)) => Ok(Value::Float(left / right)),
        _ => left / right,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a quotient is rounded")]
const fn as_double(value: &Value) -> Option<f64> {
    if let Value::Int(number) = value {
        Some(*number as f64)
    } else if let Value::UInt(number) = value {
        Some(*number as f64)
    } else if let Value::Float(number) = value {
        Some(*number)
    } else {
        None
    }
}

fn utc(time: Value) -> Value {
    if let Value::Timestamp(at) = time {
        Value::Timestamp(at.to_utc().fixed_offset())
    } else {
        time
    }
}

/// Whether a list has a value, or a map has it as a key.
fn member(wanted: Value, within: Value) -> Result<bool, ExecutionError> {
    match (within, wanted) {
        (Value::List(items), wanted) => Ok(items.contains(&wanted)),
        (Value::Map(map), Value::String(name)) => Ok(has(&map, &name.into())),
        (Value::Map(map), Value::Int(number)) => Ok(has(&map, &number.into())),
        (Value::Map(map), Value::UInt(number)) => Ok(has(&map, &number.into())),
        (Value::Map(map), Value::Bool(truth)) => Ok(has(&map, &truth.into())),
        (Value::Map(map), Value::Float(number)) => {
            let mut keys = map.map.keys();
            Ok(keys.any(|key| match key {
                Key::Int(key) => Value::Int(*key) == Value::Float(number),
                Key::Uint(key) => Value::UInt(*key) == Value::Float(number),
                Key::Bool(_) | Key::String(_) => false,
            }))
        }
        _ => Err(ExecutionError::function_error(
            "in",
            "it is asked of a list, or of a map for one of its names",
        )),
    }
}

fn has(map: &Map, key: &Key) -> bool {
    map.get(key).is_some()
}
