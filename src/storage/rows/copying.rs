//! The statements that read tables for a copy, which are made from the list of tables.

use crate::storage::port::{Kind, Table};

/// Columns as they are written in a statement.
pub(in crate::storage) fn names(columns: &[(&str, Kind)]) -> String {
    let names: Vec<_> = columns
        .iter()
        .map(|(name, _)| format!("\"{name}\""))
        .collect();
    names.join(", ")
}

/// Reads the rows of a table by their keys, from the first one or after one. `placeholder` writes
/// that of a part of the key, whose number begins at 1.
pub(in crate::storage) fn select(
    table: &Table,
    is_after: bool,
    placeholder: impl Fn(usize) -> String,
) -> String {
    let (all, key) = (names(table.columns), names(table.key()));
    let after = if is_after {
        let given: Vec<_> = (1..=table.key().len()).map(placeholder).collect();
        format!(" where ({key}) > ({})", given.join(", "))
    } else {
        String::new()
    };
    format!("select {all} from \"{}\"{after} order by {key}", table.name)
}
