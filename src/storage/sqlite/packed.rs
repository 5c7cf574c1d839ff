//! Many rows as one.
//!
//! A row is handed over from the thread of its connection to the task that asked, and waking that
//! task costs more than reading the row (half of what a page of the feed took). So lists leave the
//! database as a single row: what is small as a list of lists in JSON, and the documents joined.

use serde::Deserialize;
use sqlx::{FromRow, Row as _};
use sqlx_sqlite::SqliteRow;

use crate::entity::{Key, Position};
use crate::id::EntityId;
use crate::storage::{port::Error, rows::or_default};

/// Between two documents: a character that JSON has only escaped.
const BETWEEN_DOCUMENTS: char = '\u{1e}';

/// Packed rows: `json_group_array` of their columns, and `group_concat` of their documents.
#[derive(Debug)]
pub(super) struct Packed {
    heads: String,
    /// As many as there are heads, or none.
    documents: Option<String>,
}

impl FromRow<'_, SqliteRow> for Packed {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            heads: row.try_get("heads")?,
            documents: or_default(row.try_get("documents"))?,
        })
    }
}

impl Packed {
    /// The rows, in the order in which the database went through them.
    pub(super) fn rows<'a, Head: Deserialize<'a>>(
        &'a self,
    ) -> Result<impl Iterator<Item = (Head, Option<&'a str>)>, Error> {
        let inconsistent = |column| Error::Inconsistent {
            table: "version",
            column,
            row: 0,
        };
        let heads: Vec<Head> =
            serde_json::from_str(&self.heads).map_err(|_| inconsistent("packed"))?;
        let documents: Vec<&str> = self
            .documents
            .as_deref()
            .map(|joined| joined.split(BETWEEN_DOCUMENTS).collect())
            .unwrap_or_default();
        if !documents.is_empty() && documents.len() != heads.len() {
            return Err(inconsistent("data"));
        }
        let mut documents = documents.into_iter();
        Ok(heads.into_iter().map(move |head| (head, documents.next())))
    }
}

/// A UUID in hexadecimal, as the database writes it.
pub(super) fn uuid(hex: &str) -> Result<uuid::Uuid, Error> {
    uuid::Uuid::try_parse(hex).map_err(|_| Error::Inconsistent {
        table: "version",
        column: "id",
        row: 0,
    })
}

/// A key in hexadecimal, as the database writes it.
pub(super) fn key(hex: &str) -> Result<Key, Error> {
    let bytes = hex::decode(hex).map_err(|_| Error::Inconsistent {
        table: "search_key",
        column: "key",
        row: 0,
    })?;
    Ok(Key::from_bytes(bytes))
}

/// Ids and positions of entities, in the order of the ids.
pub(super) fn in_order(packed: &Packed) -> Result<Vec<(EntityId, Position)>, Error> {
    let mut found = packed
        .rows()?
        .map(|((id, n), _): ((&str, i64), _)| Ok((EntityId::from_uuid(uuid(id)?), Position(n))))
        .collect::<Result<Vec<_>, Error>>()?;
    found.sort_unstable();
    Ok(found)
}
