//! All models of the caller's tenant.

use super::{Access, Context, Family, Operation, Output};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{Nothing, model},
};

pub(super) struct ListModels;

impl Operation for ListModels {
    type Payload = Nothing;
    type Answer = model::Listed;

    const REQUEST: EventType = EventType::EntityModelGetAllRequest;
    const RESPONSE: EventType = EventType::EntityModelGetAllResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    /// There is nothing to read in the payload (`grpc.md` §8.1).
    fn parse(_payload: &str) -> Result<Self, Failure> {
        Ok(Self)
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let models = cx.storage().models(&cx.caller().tenant).await?;
        let models = models.iter();
        let models = models.map(|one| model::Model::new(&one.key, one.lock, one.updated));
        Ok(Output::one(model::Listed {
            models: models.collect(),
        }))
    }
}
