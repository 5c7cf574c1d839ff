//! Pages of the entities of a model (`rest.md` §3.9).
//!
//! Indexes alone decide which entities are on a page; documents are read when they are sent, so
//! neither the size of the model nor the page number costs memory.

use std::collections::BTreeMap;

use super::{
    View,
    filter::Candidate,
    hits::{Hit, Hits},
    walk::up_to,
};
use crate::error::Failure;
use crate::id::EntityId;
use crate::storage::Definitions;

/// How many entities are looked up at once if the transaction has changed some of its own.
const LISTED: usize = 4_096;

/// One page of the entities of a model, ordered by id.
pub async fn page(
    view: View,
    definitions: &Definitions,
    number: i64,
    size: i64,
) -> Result<Hits, Failure> {
    let offset = number.saturating_mul(size);
    let snapshot = view.snapshot().clone();
    if view.is_current() {
        let page = snapshot.current_page(definitions, offset, size).await?;
        return Ok(Hits::at(snapshot, page));
    }
    let mut own = view.into_own();
    if own.is_empty() {
        let page = snapshot.page(definitions, None, offset, size).await?;
        return Ok(Hits::at(snapshot, page));
    }
    let [mut skip, wanted] =
        [offset, size].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let limit = i64::try_from(LISTED).unwrap_or(i64::MAX);
    let mut hits = Vec::new();
    let mut after = None;
    while hits.len() < wanted {
        let committed = snapshot.page(definitions, after, 0, limit).await?;
        let is_last = committed.len() < LISTED;
        after = committed.last().map(|(id, _)| *id);
        let mut part: BTreeMap<EntityId, Hit> = committed
            .into_iter()
            .map(|(id, position)| (id, Hit::At(id, position)))
            .collect();
        for (id, changed) in up_to(&mut own, after.filter(|_| !is_last)) {
            match changed {
                Some(version) => part.insert(id, Hit::of(Candidate::Version(&version))),
                None => part.remove(&id),
            };
        }
        let skipped = skip.min(part.len());
        skip -= skipped;
        hits.extend(part.into_values().skip(skipped));
        if is_last {
            break;
        }
    }
    hits.truncate(wanted);
    Ok(Hits::of(snapshot, hits))
}
