//! Makes an entity, or several of one model where the data is a list (`grpc.md` §8.2).

use serde_json::value::RawValue;

use super::{
    Access, Answer, Context, Family, Operation,
    writing::{create_all, document},
};
use crate::{
    error::Failure,
    event::{
        EventType,
        payload::{
            self,
            entity::{self, Chunk},
        },
    },
    id::ModelKey,
    runtime::NewEntity,
};

pub(super) enum CreateEntity {
    One(NewEntity),
    Many(Vec<NewEntity>),
}

impl Operation for CreateEntity {
    const REQUEST: EventType = EventType::EntityCreateRequest;
    const RESPONSE: EventType = EventType::EntityTransactionResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let create: entity::Create<'_> = payload::decode(payload)?;
        create.data_format.require_json()?;
        let model = ModelKey::from(create.payload.model);
        let data = create.payload.data;
        if !data.get().starts_with('[') {
            return Ok(Self::One(NewEntity {
                model,
                document: document(data)?,
            }));
        }
        let items: Vec<&RawValue> = payload::decode(data.get())?;
        let entities = items.into_iter().map(|item| {
            Ok(NewEntity {
                model: model.clone(),
                document: document(item)?,
            })
        });
        Ok(Self::Many(entities.collect::<Result<_, Failure>>()?))
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let mut session = cx.session().await?;
        let (ids, warnings) = match self {
            Self::One(entity) => {
                let created = cx.runtime().create(&mut session, entity, &cx.initiator()).await?;
                (vec![created.id], created.warnings)
            }
            Self::Many(entities) => create_all(&cx, &mut session, entities).await?,
        };
        let chunk = Chunk::done(session.id(), ids);
        session.finish(cx.cancel()).await?;
        cx.answer(Self::RESPONSE, entity::written(cx.request(), &chunk, &warnings))
    }
}
