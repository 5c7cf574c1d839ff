//! Scan pages: many entities as one row.

use sqlx::FromRow;
use sqlx_sqlite::SqliteRow;
use uuid::Uuid;

use super::{Sqlite, many::bytes_of};
use crate::clock::Timestamp;
use crate::entity::Position;
use crate::id::{EntityId, TransactionId};
use crate::storage::port::{
    Entry, Error, LifecycleEntry, Lifecycles, Reached, ScanPage, ScanRequest,
};
use crate::storage::rows::from_row_of;

const SCAN_PAGE: &str = include_str!("sql/scan_page.sql");
const SCAN_PAGE_WITH_LIFECYCLE: &str = include_str!("sql/scan_page_with_lifecycle.sql");

/// Where the answer is not what was asked for.
const TORN: Error = Error::Inconsistent {
    table: "version",
    column: "data",
    row: 0,
};

/// The row of a page: lists of numbers with commas, and texts one behind the other. Of nothing
/// the database makes null.
struct PageData {
    /// How many entities were passed, also those that were not there.
    passed: i64,
    reached: Option<Vec<u8>>,
    positions: Option<String>,
    lengths: Option<String>,
    ids: Option<Vec<u8>>,
    documents: Option<String>,
}

from_row_of! { SqliteRow, PageData { passed, reached, positions, lengths, ids, documents } }

struct LifecycleData {
    state_lengths: Option<String>,
    states: Option<String>,
    transition_lengths: Option<String>,
    transitions: Option<String>,
    created: Option<String>,
    updated: Option<String>,
    transactions: Option<Vec<u8>>,
}

from_row_of! {
    SqliteRow,
    LifecycleData {
        state_lengths, states, transition_lengths, transitions, created, updated,
        transactions
    }
}

impl Sqlite {
    /// The next entities of a model, and how far that went; none at the end.
    pub(in crate::storage) async fn scan_page(&self, asked: ScanRequest) -> Result<Reached, Error> {
        let statement = if asked.lifecycle {
            SCAN_PAGE_WITH_LIFECYCLE
        } else {
            SCAN_PAGE
        };
        let row = sqlx::query(statement)
            .bind(asked.model.0)
            .bind(bytes_of(asked.after))
            .bind(asked.at.0)
            .bind(asked.rows)
            .bind(asked.document_bytes)
            .fetch_one(&self.reads)
            .await?;
        let lifecycles = if asked.lifecycle {
            Some(lifecycles(&row)?)
        } else {
            None
        };
        let data = PageData::from_row(&row)?;
        let reached = data
            .reached
            .as_deref()
            .filter(|_| data.passed == asked.rows);
        let reached = reached.and_then(|id| Uuid::from_slice(id).ok());
        let page = page(data, lifecycles).ok_or(TORN)?;
        Ok((page, reached.map(EntityId::from_uuid)))
    }
}

fn page(data: PageData, lifecycles: Option<Lifecycles>) -> Option<ScanPage> {
    let ids = uuids(data.ids.as_deref());
    let mut rows = Vec::with_capacity(ids.len());
    let mut lengths = numbers(data.lengths.as_deref());
    let mut at = 0;
    for (index, (id, position)) in ids.zip(numbers(data.positions.as_deref())).enumerate() {
        // Less than nothing where there is none.
        let document = usize::try_from(lengths.next()??).ok().map(|length| {
            let from = at;
            at += length;
            (from, at)
        });
        rows.push(Entry {
            id: EntityId::from_uuid(id),
            position: Position(position?),
            document,
            index,
        });
    }
    let documents = data.documents.unwrap_or_default();
    let complete = lifecycles
        .as_ref()
        .is_none_or(|known| known.all.len() == rows.len());
    (at == documents.len() && lengths.next().is_none() && complete)
        .then(|| ScanPage::new(rows, documents, lifecycles))
}

fn lifecycles(row: &SqliteRow) -> Result<Lifecycles, Error> {
    let data = LifecycleData::from_row(row)?;
    let mut states = spans(data.state_lengths.as_deref());
    let mut transitions = spans(data.transition_lengths.as_deref());
    let mut created = numbers(data.created.as_deref());
    let mut updated = numbers(data.updated.as_deref());
    let entry = |transaction| {
        Some(LifecycleEntry {
            state: states.next()??,
            transition: transitions.next()??,
            created: Timestamp::from_micros(created.next()??),
            updated: Timestamp::from_micros(updated.next()??),
            transaction: TransactionId::from_uuid(transaction),
        })
    };
    let all: Option<Vec<_>> = uuids(data.transactions.as_deref()).map(entry).collect();
    Ok(Lifecycles {
        states: data.states.unwrap_or_default(),
        transitions: data.transitions.unwrap_or_default(),
        all: all.ok_or(TORN)?,
    })
}

/// Where texts are that stand one behind the other, by their lengths.
fn spans(lengths: Option<&str>) -> impl Iterator<Item = Option<(usize, usize)>> {
    let mut at = 0;
    numbers(lengths).map(move |length| {
        let from = at;
        at += usize::try_from(length?).ok()?;
        Some((from, at))
    })
}

/// The numbers of a list; none in place of what is not a number.
fn numbers(list: Option<&str>) -> impl Iterator<Item = Option<i64>> {
    list.into_iter()
        .flat_map(|list| list.split(','))
        .map(|number| number.parse().ok())
}

fn uuids(list: Option<&[u8]>) -> impl ExactSizeIterator<Item = Uuid> + use<> {
    let (ids, _) = list.unwrap_or_default().as_chunks::<16>();
    let ids: Vec<Uuid> = ids.iter().copied().map(Uuid::from_bytes).collect();
    ids.into_iter()
}
