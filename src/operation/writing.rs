//! What writes of many entities have in common: windows, and one session for each.

use std::ops::ControlFlow;

use indexmap::IndexSet;

use crate::entity::Document;
use crate::error::{Code, Failure};
use crate::event::payload::entity::{Chunk, StoredChunk};
use crate::id::{EntityId, TransactionId};
use crate::runtime::{self, NewEntity, Session, Update};

use super::Context;

/// What there is to say beside an answer, each once: of thousands of entities it is often the same.
pub(super) type Warnings = IndexSet<String>;

/// The warnings in the order they came.
pub(super) fn listed(warnings: &Warnings) -> Vec<String> {
    warnings.iter().cloned().collect()
}

/// Makes entities in one transaction, unless a repeated request has made them before; which of
/// them failed is reported.
pub(super) async fn create_chunk(
    cx: &Context,
    part: u32,
    entities: Vec<NewEntity>,
    warnings: &mut Warnings,
) -> Result<Chunk, Failure> {
    if let Some(chunk) = done_before(cx, part, warnings)? {
        return Ok(chunk);
    }
    let by = cx.initiator();
    let mut session = cx.session_for(part, so_far).await?;
    let mut collected = Warnings::new();
    let count = entities.len();
    let mut ids = Vec::with_capacity(count);
    for (item, entity) in entities.into_iter().enumerate() {
        session.has_more(item + 1 < count);
        match cx.runtime().create(&mut session, entity, &by).await {
            Ok(created) => {
                ids.push(created.id);
                collected.extend(created.warnings);
            }
            Err(failure) => return Err(failed(session, failure, item, &collected).await),
        }
    }
    let chunk = Chunk::done(session.entry(), ids);
    let finished = finish(cx, session, &chunk, &collected).await;
    finished.map_err(|failure| failure.warned(listed(&collected)))?;
    warnings.extend(collected);
    Ok(chunk)
}

/// Changes entities in one transaction. An item whose own precondition fails is left out; any
/// other failure ends them all (`workflow-engine.md` §7.7).
pub(super) async fn update_chunk(
    cx: &Context,
    part: u32,
    updates: Vec<Update>,
    warnings: &mut Warnings,
) -> Result<Chunk, Failure> {
    if let Some(chunk) = done_before(cx, part, warnings)? {
        return Ok(chunk);
    }
    let by = cx.initiator();
    let mut session = cx.session_for(part, so_far).await?;
    let mut collected = Warnings::new();
    let count = updates.len();
    let mut ids = Vec::with_capacity(count);
    let mut left_out = Vec::new();
    for (item, update) in updates.into_iter().enumerate() {
        let id = update.id;
        // What is known then does not name those that were left out.
        session.has_more(item + 1 < count || !left_out.is_empty());
        match cx.runtime().update(&mut session, update, &by).await {
            Ok(done) => {
                ids.push(id);
                collected.extend(done.warnings);
            }
            Err(failure) if failure.code() == Code::EntityModified => {
                left_out.push((id, item, failure));
            }
            Err(failure) => return Err(failed(session, failure, item, &collected).await),
        }
    }
    let chunk = Chunk {
        failed: left_out,
        ..Chunk::done(session.entry(), ids)
    };
    let finished = finish(cx, session, &chunk, &collected).await;
    finished.map_err(|failure| failure.warned(listed(&collected)))?;
    warnings.extend(collected);
    Ok(chunk)
}

/// Ends a chunk whose item has failed.
async fn failed(
    mut session: Session,
    failure: Failure,
    item: usize,
    warnings: &Warnings,
) -> Failure {
    let failure = session.fail(failure).await;
    failure.of_item(item).warned(listed(warnings))
}

/// Commits a chunk with what a repeat of the request is to return.
async fn finish(
    cx: &Context,
    mut session: Session,
    chunk: &Chunk,
    warnings: &Warnings,
) -> Result<(), Failure> {
    let stored = StoredChunk::new(chunk, &listed(warnings)).encode();
    session.has_more(false);
    session.finish_with(&stored, cx.cancel()).await
}

/// A chunk of which only a part was committed.
fn so_far(transaction: TransactionId, entities: &[EntityId]) -> String {
    StoredChunk::new(&Chunk::done(transaction, entities.to_vec()), &[]).encode()
}

/// What a repeated request has done of it before.
fn done_before(cx: &Context, part: u32, warnings: &mut Warnings) -> Result<Option<Chunk>, Failure> {
    let Some(stored) = cx.promised().and_then(|promised| promised.done(part)) else {
        return Ok(None);
    };
    let (chunk, collected) =
        read(stored).ok_or_else(|| Failure::internal("a stored chunk cannot be read"))?;
    warnings.extend(collected);
    Ok(Some(chunk))
}

fn read(stored: &str) -> Option<(Chunk, Vec<String>)> {
    let stored = StoredChunk::decode(stored)?;
    let transaction = match stored.transaction {
        Some(transaction) => Some(transaction.parse().ok()?),
        None => None,
    };
    let ids = stored.entities.iter().map(|id| id.parse().ok());
    let modified = stored.modified.iter().map(|(id, item)| {
        let id = id.parse().ok()?;
        Some((id, *item, runtime::Error::EntityModified(id).into()))
    });
    let chunk = Chunk {
        transaction,
        ids: ids.collect::<Option<_>>()?,
        failed: modified.collect::<Option<_>>()?,
        error: None,
    };
    Some((chunk, stored.warnings))
}

/// Items in windows of a size, numbered from 1; of no items, one empty window.
pub(super) fn windows<T>(items: Vec<T>, size: usize) -> impl Iterator<Item = (u32, Vec<T>)> {
    let mut items = items.into_iter();
    let mut is_first = true;
    let windows = std::iter::from_fn(move || {
        let window: Vec<T> = items.by_ref().take(size).collect();
        (std::mem::take(&mut is_first) || !window.is_empty()).then_some(window)
    });
    (1..).zip(windows)
}

/// Adds what became of a window. The first one's failure is the request's; a later one's ends
/// the work and is reported in its place (`errors.md` §4).
pub(super) fn add(
    chunks: &mut Vec<Chunk>,
    outcome: Result<Chunk, Failure>,
    warnings: &mut Warnings,
) -> Result<ControlFlow<()>, Failure> {
    match outcome {
        Ok(chunk) => {
            chunks.push(chunk);
            Ok(ControlFlow::Continue(()))
        }
        Err(failure) if chunks.is_empty() => Err(failure),
        Err(failure) => {
            warnings.extend(failure.warnings().iter().cloned());
            chunks.push(Chunk::failed(failure));
            Ok(ControlFlow::Break(()))
        }
    }
}

/// The size of windows that a request asks for; all items at once, if it does not.
pub(super) fn window_size(given: Option<usize>) -> Result<usize, Failure> {
    match given {
        None => Ok(usize::MAX),
        Some(0) => Err(Failure::malformed(
            "invalid payload: chunkSize is less than 1",
        )),
        Some(size) => Ok(size),
    }
}

/// A document that a request carries.
pub(super) fn document(raw: &serde_json::value::RawValue) -> Result<Document, Failure> {
    Document::from_raw(raw)
        .map_err(|error| Failure::malformed(format!("invalid entity data: {error}")))
}
