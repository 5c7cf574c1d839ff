//! What writes of many entities have in common: windows, and one session for each.

use std::ops::ControlFlow;

use crate::entity::Document;
use crate::error::{Code, Failure};
use crate::event::payload::entity::Chunk;
use crate::runtime::{NewEntity, Update};

use super::Context;

/// Makes entities in one transaction; which of them failed is told.
pub(super) async fn create_chunk(
    cx: &Context,
    entities: Vec<NewEntity>,
    warnings: &mut Vec<String>,
) -> Result<Chunk, Failure> {
    let by = cx.initiator();
    let mut session = cx.session().await?;
    let mut ids = Vec::with_capacity(entities.len());
    for (item, entity) in entities.into_iter().enumerate() {
        let created = cx
            .runtime()
            .create(&mut session, entity, &by)
            .await
            .map_err(|failure| failure.of_item(item))?;
        ids.push(created.id);
        warnings.extend(created.warnings);
    }
    let transaction = session.entry();
    session.finish(cx.cancel()).await?;
    Ok(Chunk::done(transaction, ids))
}

/// Changes entities in one transaction. An item whose own precondition fails is left out; any
/// other failure ends them all (`workflow-engine.md` §7.7).
pub(super) async fn update_chunk(
    cx: &Context,
    updates: Vec<Update>,
    warnings: &mut Vec<String>,
) -> Result<Chunk, Failure> {
    let by = cx.initiator();
    let mut session = cx.session().await?;
    let mut ids = Vec::with_capacity(updates.len());
    let mut failed = Vec::new();
    for (item, update) in updates.into_iter().enumerate() {
        let id = update.id;
        match cx.runtime().update(&mut session, update, &by).await {
            Ok(done) => {
                ids.push(id);
                warnings.extend(done.warnings);
            }
            Err(failure) if failure.code() == Code::EntityModified => {
                failed.push((id, item, failure));
            }
            Err(failure) => return Err(failure.of_item(item)),
        }
    }
    let transaction = session.entry();
    session.finish(cx.cancel()).await?;
    Ok(Chunk {
        failed,
        ..Chunk::done(transaction, ids)
    })
}

/// Items in windows of a size; of no items, one empty window.
pub(super) fn windows<T>(items: Vec<T>, size: usize) -> impl Iterator<Item = Vec<T>> {
    let mut items = items.into_iter();
    let mut is_first = true;
    std::iter::from_fn(move || {
        let window: Vec<T> = items.by_ref().take(size).collect();
        (std::mem::take(&mut is_first) || !window.is_empty()).then_some(window)
    })
}

/// Adds what became of a window. The first one's failure is the request's; a later one's ends
/// the work and is told in its place (`errors.md` §4).
pub(super) fn add(
    chunks: &mut Vec<Chunk>,
    outcome: Result<Chunk, Failure>,
) -> Result<ControlFlow<()>, Failure> {
    match outcome {
        Ok(chunk) => {
            chunks.push(chunk);
            Ok(ControlFlow::Continue(()))
        }
        Err(failure) if chunks.is_empty() => Err(failure),
        Err(failure) => {
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
