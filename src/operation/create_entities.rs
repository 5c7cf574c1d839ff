//! Creates entities of any models, in one transaction or in windows (`grpc.md` §8.2).

use super::{
    Access, Context, Family, Operation, Output, Reads,
    writing::{Warnings, add, create_chunk, listed, window_size, windows},
};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        entity::{self, Written},
    },
};
use crate::runtime::NewEntity;

pub(super) struct CreateEntities {
    entities: Vec<NewEntity>,
    window: Option<usize>,
}

impl CreateEntities {
    /// Refuses windows of no size.
    pub(super) fn new(entities: Vec<NewEntity>, window: Option<usize>) -> Result<Self, Failure> {
        window_size(window)?;
        Ok(Self { entities, window })
    }
}

impl Operation for CreateEntities {
    type Payload = entity::CreateCollection<'static>;
    type Answer = Written;

    const REQUEST: EventType = EventType::EntityCreateCollectionRequest;
    const RESPONSE: EventType = EventType::EntityTransactionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const READS: Reads = Reads::Definitions;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let create: entity::CreateCollection<'_> = payload::decode(payload)?;
        let format = create.data_format;
        // With windows an empty list is one empty window (`rest.md` §3.2); without, it is refused.
        if create.payloads.is_empty() && create.chunk_size.is_none() {
            return Err(Failure::malformed("invalid payload: `payloads` is empty"));
        }
        let entities = create.payloads.into_iter().map(|item| {
            Ok(NewEntity {
                model: item.model.into(),
                document: format.of_item(item.data).read(item.data)?,
            })
        });
        Self::new(entities.collect::<Result<_, Failure>>()?, create.chunk_size)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let mut warnings = Warnings::new();
        let size = window_size(self.window)?;
        let mut chunks = Vec::new();
        for (part, window) in windows(self.entities, size) {
            let outcome = create_chunk(&cx, part, window, &mut warnings).await;
            if add(&mut chunks, outcome, &mut warnings)?.is_break() {
                break;
            }
        }
        let warnings = listed(&warnings);
        let written = match (&self.window, chunks.len()) {
            (None, 1) => Written::one(chunks.remove(0)),
            _ => Written::several(chunks),
        };
        Ok(Output::One(written, warnings))
    }
}
