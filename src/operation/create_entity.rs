//! Creates an entity, or several of one model if the data is a list (`grpc.md` §8.2).

use serde_json::value::RawValue;

use super::{Access, Context, Family, Operation, Output, Reads, create_entities::CreateEntities};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        entity::{self, Chunk, Written},
    },
};
use crate::id::ModelKey;
use crate::runtime::NewEntity;

pub(super) enum CreateEntity {
    One(NewEntity),
    Many(CreateEntities),
}

impl Operation for CreateEntity {
    type Payload = entity::Create<'static>;
    type Answer = Written;

    const REQUEST: EventType = EventType::EntityCreateRequest;
    const RESPONSE: EventType = EventType::EntityTransactionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const READS: Reads = Reads::Definitions;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let create: entity::Create<'_> = payload::decode(payload)?;
        let format = create.data_format;
        let model = ModelKey::from(create.payload.model);
        let data = create.payload.data;
        if !data.get().starts_with('[') {
            return Ok(Self::One(NewEntity {
                model,
                document: format.read(data)?,
            }));
        }
        let items: Vec<&RawValue> = payload::decode(data.get())?;
        let entities = items.into_iter().map(|item| {
            Ok(NewEntity {
                model: model.clone(),
                document: format.of_item(item).read(item)?,
            })
        });
        let entities = entities.collect::<Result<_, Failure>>()?;
        CreateEntities::new(entities, create.chunk_size).map(Self::Many)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let entity = match self {
            Self::One(entity) => entity,
            Self::Many(entities) => return Box::pin(entities.run(cx)).await,
        };
        let mut session = cx.session().await?;
        let created = cx
            .runtime()
            .create(&mut session, entity, &cx.initiator())
            .await?;
        let chunk = Chunk::done(session.entry(), vec![created.id]);
        cx.finish(session, Written::one(chunk), created.warnings)
            .await
    }
}
