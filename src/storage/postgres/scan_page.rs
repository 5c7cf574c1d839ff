//! Scan pages: many entities, and of each only what is asked for.

use sqlx::{FromRow, Row as _};
use sqlx_postgres::PgRow;
use uuid::Uuid;

use super::{Postgres, many::first_after};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, TransactionId};
use crate::storage::port::{
    Entry, Error, LifecycleEntry, Lifecycles, Reached, ScanPage, ScanRequest,
};
use crate::storage::rows::or_default;

const SCAN_PAGE: &str = include_str!("sql/scan_page.sql");
const SCAN_PAGE_WITH_LIFECYCLE: &str = include_str!("sql/scan_page_with_lifecycle.sql");

/// An entity; without a position if it was not there.
#[derive(Debug)]
struct PageRow {
    id: Uuid,
    n: Option<i64>,
    /// None if it is too large for a page.
    data: Option<String>,
    state: Option<String>,
    transition: Option<String>,
    created: Option<i64>,
    updated: Option<i64>,
    tx: Option<Uuid>,
}

impl FromRow<'_, PgRow> for PageRow {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get("id")?,
            n: row.try_get("n")?,
            data: row.try_get("data")?,
            state: or_default(row.try_get("state"))?,
            transition: or_default(row.try_get("transition"))?,
            created: or_default(row.try_get("created"))?,
            updated: or_default(row.try_get("updated"))?,
            tx: or_default(row.try_get("tx"))?,
        })
    }
}

impl Postgres {
    /// The next entities of a model, and how far that went; none at the end.
    pub(in crate::storage) async fn scan_page(&self, asked: ScanRequest) -> Result<Reached, Error> {
        let statement = if asked.lifecycle {
            SCAN_PAGE_WITH_LIFECYCLE
        } else {
            SCAN_PAGE
        };
        let rows: Vec<PageRow> = sqlx::query_as(statement)
            .bind(asked.model.0)
            .bind(first_after(asked.after))
            .bind(asked.at.0)
            .bind(asked.rows)
            .bind(asked.document_bytes)
            .fetch_all(&self.reads)
            .await?;
        let is_full = i64::try_from(rows.len()).is_ok_and(|passed| passed == asked.rows);
        let reached = rows.last().filter(|_| is_full).map(|row| row.id);
        let page = page(rows, asked.lifecycle);
        Ok((page, reached.map(EntityId::from_uuid)))
    }
}

fn page(rows: Vec<PageRow>, has_lifecycles: bool) -> ScanPage {
    let mut entries = Vec::with_capacity(rows.len());
    let mut documents = String::new();
    let mut known = Lifecycles {
        states: String::new(),
        transitions: String::new(),
        all: Vec::new(),
    };
    for row in rows {
        let Some(position) = row.n else { continue };
        entries.push(Entry {
            id: EntityId::from_uuid(row.id),
            position: Position(position),
            document: row.data.as_deref().map(|data| add(&mut documents, data)),
            index: entries.len(),
        });
        if has_lifecycles {
            known.all.push(LifecycleEntry {
                state: add(&mut known.states, row.state.as_deref().unwrap_or_default()),
                transition: add(
                    &mut known.transitions,
                    row.transition.as_deref().unwrap_or_default(),
                ),
                created: Timestamp::from_micros(row.created.unwrap_or_default()),
                updated: Timestamp::from_micros(row.updated.unwrap_or_default()),
                transaction: TransactionId::from_uuid(row.tx.unwrap_or_default()),
            });
        }
    }
    ScanPage::new(entries, documents, has_lifecycles.then_some(known))
}

/// Puts a text behind others, and says where it is.
fn add(texts: &mut String, text: &str) -> (usize, usize) {
    let from = texts.len();
    texts.push_str(text);
    (from, texts.len())
}
