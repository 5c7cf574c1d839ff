//! Changes entities, in one transaction or in windows (`grpc.md` §8.2, the recommended rule).

use super::{
    Access, Context, Family, Operation, Output,
    update_entity::update,
    writing::{Warnings, add, listed, update_chunk, window_size, windows},
};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        entity::{self, Written},
    },
};
use crate::runtime::Update;

pub(super) struct UpdateEntities {
    updates: Vec<Update>,
    window: Option<usize>,
}

impl Operation for UpdateEntities {
    type Payload = entity::UpdateCollection<'static>;
    type Answer = Written;

    const REQUEST: EventType = EventType::EntityUpdateCollectionRequest;
    const RESPONSE: EventType = EventType::EntityTransactionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: entity::UpdateCollection<'_> = payload::decode(payload)?;
        let format = request.data_format;
        window_size(request.chunk_size)?;
        if request.payloads.is_empty() {
            return Err(Failure::malformed("invalid payload: collection is empty"));
        }
        let items = request.payloads.into_iter().enumerate();
        let updates = items.map(|(item, change)| {
            let format = format.of_item(change.data);
            update(change, format).map_err(|failure| failure.of_item(item))
        });
        Ok(Self {
            updates: updates.collect::<Result<_, Failure>>()?,
            window: request.chunk_size,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut warnings = Warnings::new();
        let size = window_size(self.window)?;
        let mut chunks = Vec::new();
        for (part, window) in windows(self.updates, size) {
            let outcome = update_chunk(&cx, part, window, &mut warnings).await;
            if add(&mut chunks, outcome, &mut warnings)?.is_break() {
                break;
            }
        }
        let warnings = listed(&warnings);
        let written = match (&self.window, chunks.as_slice()) {
            (None, [chunk]) if chunk.failed.is_empty() => Written::one(chunks.remove(0)),
            _ => Written::several(chunks),
        };
        Ok(Output::One(written, warnings))
    }
}
