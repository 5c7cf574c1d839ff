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

/// Adds the functions to a context in which an expression is evaluated once.
pub(super) fn add(
    context: &mut Context<'_, '_>,
    costs: Costs,
    budget: Arc<Budget>,
) -> Result<(), ExecutionError> {
    let for_rounds = Arc::clone(&budget);
    let rounds = move |at: i64, outer: Arc<Vec<Value>>, list: Value| {
        costs.spend(at, &outer, &list, &for_rounds);
        list
    };
    let matches = move |This(text): This<Arc<String>>, pattern: Arc<String>| {
        pattern::matches(&text, &pattern, &budget)
            .map_err(|error| ExecutionError::function_error("matches", error))
    };
    let added = context
        .add_function(ROUNDS, rounds)
        .and_then(|()| context.add_function(MATCHES, matches))
        .and_then(|()| context.add_function(MEMBER, member));
    added.map_err(|error| ExecutionError::function_error("", error))
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
