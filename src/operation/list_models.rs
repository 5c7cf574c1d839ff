//! All models of the caller's tenant.

use super::{Access, Answer, Context, Family, Operation};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{Nothing, model},
};

pub(super) struct ListModels;

impl Operation for ListModels {
    type Payload = Nothing;

    const REQUEST: EventType = EventType::EntityModelGetAllRequest;
    const RESPONSE: EventType = EventType::EntityModelGetAllResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    /// There is nothing to read in the payload (`grpc.md` §8.1).
    fn parse(_payload: &str) -> Result<Self, Failure> {
        Ok(Self)
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let models = cx.storage().models(&cx.caller().tenant).await?;
        let models = models.into_iter().map(|listed| model::Listed {
            key: listed.key,
            lock: listed.lock,
            updated: listed.updated,
        });
        cx.answer(Self::RESPONSE, model::all(cx.request(), models))
    }
}
