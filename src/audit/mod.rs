//! What happened to an entity, and why, derived from what commits recorded.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::entity`], [`crate::engine`],
//! [`crate::storage`].
//! Nothing is written for it: the documented events (`workflow-engine.md` §11) are derived from the
//! versions and their decision records, so work that was rolled back has none.

mod events;

use crate::clock::Timestamp;
use crate::entity::{Change, Position};
use crate::id::{EntityId, TransactionId};
use crate::storage::{Error, Recorded, Snapshot};

pub use events::MachineEvent;

/// An item of the audit trail.
#[derive(Debug, Clone)]
pub enum Item {
    /// The entity was changed.
    Change(Change),
    /// Its state machine decided something.
    Machine(MachineEvent),
}

/// Which items to return.
#[derive(Debug, Clone)]
pub struct Filter {
    pub changes: bool,
    pub machine: bool,
    /// Items at or after this time.
    pub from: Option<Timestamp>,
    /// Items before this time.
    pub to: Option<Timestamp>,
    pub transaction: Option<TransactionId>,
    /// How many items to skip.
    pub skip: usize,
    /// How many items to return.
    pub limit: usize,
}

/// A page of items, newest first.
#[derive(Debug)]
pub struct Page {
    pub items: Vec<Item>,
    pub has_next: bool,
}

/// How many commits are read at a time.
const PART: i64 = 256;

impl Item {
    pub const fn at(&self) -> Timestamp {
        match self {
            Self::Change(change) => change.at,
            Self::Machine(event) => event.at,
        }
    }

    const fn transaction(&self) -> TransactionId {
        match self {
            Self::Change(change) => change.transaction,
            Self::Machine(event) => event.transaction,
        }
    }
}

impl Filter {
    fn takes(&self, item: &Item) -> bool {
        let wanted = match item {
            Item::Change(_) => self.changes,
            Item::Machine(_) => self.machine,
        };
        wanted
            && self.from.is_none_or(|from| item.at() >= from)
            && self.to.is_none_or(|to| item.at() < to)
            && self
                .transaction
                .is_none_or(|transaction| item.transaction() == transaction)
    }
}

/// The items of an entity; none if the entity does not exist.
pub async fn page(
    snapshot: &Snapshot,
    id: EntityId,
    filter: &Filter,
) -> Result<Option<Page>, Error> {
    let mut items = Vec::new();
    let mut skip = filter.skip;
    let mut before = None;
    if !filter.changes && !filter.machine {
        // No item can match, so one row says whether the entity exists.
        let is_known = !snapshot.trail(id, None, 1).await?.is_empty();
        return Ok(is_known.then_some(Page {
            items,
            has_next: false,
        }));
    }
    loop {
        let part = snapshot.trail(id, before, PART).await?;
        if part.is_empty() && before.is_none() {
            return Ok(None);
        }
        let is_last = i64::try_from(part.len()).is_ok_and(|count| count < PART);
        before = part.last().map(position);
        for recorded in part {
            for item in items_of(&recorded).filter(|item| filter.takes(item)) {
                if skip > 0 {
                    skip -= 1;
                } else if items.len() == filter.limit {
                    return Ok(Some(Page {
                        items,
                        has_next: true,
                    }));
                } else {
                    items.push(item);
                }
            }
        }
        if is_last {
            return Ok(Some(Page {
                items,
                has_next: false,
            }));
        }
    }
}

/// The event with which the run ended that began in a transaction.
pub async fn finished(
    snapshot: &Snapshot,
    id: EntityId,
    transaction: TransactionId,
) -> Result<Option<MachineEvent>, Error> {
    let recorded = snapshot.trail_of(id, transaction).await?;
    Ok(recorded
        .iter()
        .flat_map(items_of)
        .find_map(|item| match item {
            Item::Machine(event)
                if event.kind == events::FINISH && event.transaction == transaction =>
            {
                Some(event)
            }
            Item::Machine(_) | Item::Change(_) => None,
        }))
}

const fn position(recorded: &Recorded) -> Position {
    recorded.position
}

/// The items of one commit, newest first.
fn items_of(recorded: &Recorded) -> impl Iterator<Item = Item> {
    let change = recorded.change.clone().map(Item::Change);
    let events = events::of(recorded).into_iter().rev().map(Item::Machine);
    change.into_iter().chain(events)
}
