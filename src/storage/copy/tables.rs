//! What is copied: every table that both databases have, those first that others refer to.
//!
//! Which commit follows which and the revision are not among the columns of commits: `SQLite` has
//! neither, and `PostgreSQL` makes them from the order. Nor is who works on something: it is a
//! process that has ended.

use crate::storage::port::Kind::{Bytes, Flag, Integer, Small, Text, Uuid};
use crate::storage::port::Table;

/// In the order in which they are copied.
#[rustfmt::skip]
pub(super) const TABLES: &[Table] = &[
    Table { name: "tenant", key: 1, columns: &[("t", Integer), ("name", Text)] },
    Table { name: "actor", key: 1, columns: &[("a", Integer), ("t", Integer), ("kind", Text), ("name", Text)] },
    Table { name: "model", key: 1, columns: &[
        ("m", Integer), ("t", Integer), ("name", Text), ("version", Small), ("state", Text),
        ("change_level", Text), ("unique_keys", Text), ("updated", Integer), ("rev", Integer),
    ] },
    Table { name: "model_delta", key: 2, columns: &[("m", Integer), ("n", Integer), ("delta", Text)] },
    Table { name: "definition", key: 1, columns: &[("d", Integer), ("hash", Bytes), ("body", Text)] },
    Table { name: "workflow_set", key: 2, columns: &[("m", Integer), ("n", Integer), ("list", Text)] },
    Table { name: "commit", key: 1, columns: &[
        ("seq", Integer), ("id", Uuid), ("entry", Uuid), ("t", Integer), ("at", Integer),
        ("author", Integer), ("executor", Integer),
    ] },
    Table { name: "entity", key: 1, columns: &[
        ("e", Integer), ("id", Uuid), ("m", Integer), ("n", Integer), ("state", Text),
        ("live", Flag), ("created", Integer), ("workflow", Text),
    ] },
    Table { name: "version", key: 1, columns: &[
        ("n", Integer), ("e", Integer), ("m", Integer), ("seq", Integer), ("kind", Integer),
        ("state", Text), ("transition", Text), ("author", Integer), ("executor", Integer),
        ("data", Text), ("record", Text),
    ] },
    Table { name: "decision", key: 1, columns: &[("n", Integer), ("e", Integer), ("record", Text)] },
    Table { name: "task", key: 1, columns: &[
        ("k", Integer), ("due", Integer), ("t", Integer), ("e", Integer), ("r", Integer),
        ("kind", Integer), ("name", Text), ("body", Text), ("tries", Integer),
    ] },
    Table { name: "unique_key", key: 3, columns: &[
        ("m", Integer), ("u", Integer), ("key", Bytes), ("e", Integer),
    ] },
    Table { name: "idempotency", key: 3, columns: &[
        ("t", Integer), ("key", Text), ("part", Integer), ("hash", Bytes), ("answer", Text),
        ("expires", Integer),
    ] },
    Table { name: "message", key: 1, columns: &[
        ("k", Integer), ("id", Uuid), ("t", Integer), ("seq", Integer), ("header", Text),
        ("metadata", Text), ("content", Text),
    ] },
    Table { name: "search_path", key: 1, columns: &[
        ("p", Integer), ("m", Integer), ("path", Text), ("state", Integer), ("filled_to", Uuid),
        ("declared", Flag), ("used", Integer),
    ] },
    Table { name: "search_key", key: 3, columns: &[("p", Integer), ("key", Bytes), ("e", Integer)] },
    Table { name: "search_job", key: 1, columns: &[
        ("j", Integer), ("id", Uuid), ("t", Integer), ("m", Integer), ("seq", Integer),
        ("query", Text), ("schema", Text), ("state", Integer), ("created", Integer),
        ("finished", Integer), ("expires", Integer), ("count", Integer), ("took", Integer),
    ] },
    Table { name: "search_hit", key: 2, columns: &[("j", Integer), ("i", Integer), ("n", Integer)] },
    Table { name: "identity", key: 2, columns: &[
        ("kind", Integer), ("name", Text), ("t", Integer), ("record", Text),
    ] },
    Table { name: "record", key: 1, columns: &[
        ("c", Integer), ("t", Integer), ("kind", Integer), ("ns", Text), ("name", Text),
        ("n", Integer), ("body", Text),
    ] },
    Table { name: "topic", key: 1, columns: &[
        ("o", Integer), ("t", Integer), ("ns", Text), ("name", Text), ("last", Integer),
    ] },
    Table { name: "topic_event", key: 1, columns: &[
        ("k", Integer), ("o", Integer), ("n", Integer), ("at", Integer), ("id", Text),
        ("key", Text), ("type", Text), ("data", Text),
    ] },
    Table { name: "run_name", key: 1, columns: &[
        ("q", Integer), ("t", Integer), ("ns", Text), ("name", Text),
    ] },
    Table { name: "run", key: 1, columns: &[
        ("r", Integer), ("t", Integer), ("q", Integer), ("n", Integer), ("status", Integer),
        ("out", Flag), ("timer", Flag), ("up", Integer), ("e", Uuid), ("awaits", Uuid),
        ("created", Integer), ("ended", Integer), ("state", Text),
    ] },
    Table { name: "run_event", key: 1, columns: &[
        ("n", Integer), ("r", Integer), ("last", Integer), ("record", Text),
    ] },
    Table { name: "run_key", key: 4, columns: &[
        ("t", Integer), ("kind", Integer), ("scope", Text), ("key", Text), ("r", Integer),
    ] },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{copy::end::End, port::DatabaseLocation};

    /// What is not copied: tables, and columns of others.
    const LEFT: &[&str] = &[
        "_sqlx_migrations",
        "meta",
        "sqlite_sequence",
        "task.lease_node",
        "task.lease_until",
        "task.owner",
        "search_job.owner",
        "search_path.owner",
        "run.owner",
    ];

    #[tokio::test]
    async fn every_column_of_every_table_is_copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("empty.db");
        let place = DatabaseLocation::File(path.clone());
        let mut end = End::target(&place).await.expect("made");
        end.prepare().await.expect("migrated");
        drop(end);
        let database = rusqlite::Connection::open(&path).expect("opens");
        let text = "select t.name, c.name, c.pk from sqlite_schema t, pragma_table_info(t.name) c \
                    where t.type = 'table' order by t.name, c.cid";
        let mut query = database.prepare(text).expect("prepares");
        let rows = query.query_map([], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, i64>(2)?,
            ))
        });
        for row in rows.expect("runs") {
            let (table, column, key) = row.expect("a row");
            let whole = format!("{table}.{column}");
            if LEFT.contains(&&table[..]) || LEFT.contains(&&whole[..]) {
                continue;
            }
            let known = TABLES.iter().find(|known| known.name == table);
            let known = known.unwrap_or_else(|| panic!("{table} is not copied"));
            let place = known.columns.iter().position(|(name, _)| *name == column);
            let place = place.unwrap_or_else(|| panic!("{whole} is not copied"));
            let expected = if place < known.key { place + 1 } else { 0 };
            let expected = i64::try_from(expected).expect("small");
            assert_eq!(key, expected, "the key of {whole}");
        }
    }
}
