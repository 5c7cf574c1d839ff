//! Deletes all entities of a model, in one transaction (`grpc.md` §8.2).

use super::{Access, Answer, Context, Family, Operation};
use crate::clock::PointInTime;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, entity},
};
use crate::id::ModelKey;

pub(super) struct DeleteEntities {
    model: ModelKey,
    then: Option<PointInTime>,
    verbose: bool,
}

impl Operation for DeleteEntities {
    const REQUEST: EventType = EventType::EntityDeleteAllRequest;
    const RESPONSE: EventType = EventType::EntityDeleteAllResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: entity::DeleteAll = payload::decode(payload)?;
        if request.condition.is_some() {
            return Err(Failure::new(
                Code::NotImplemented,
                "deleting by condition is not supported yet; delete by id, or all of a model",
            ));
        }
        Ok(Self {
            model: request.model.into(),
            then: entity::point_in_time(request.point_in_time.as_deref())?,
            verbose: request.verbose == Some(true),
        })
    }

    async fn run(self, cx: Context) -> Result<Answer, Failure> {
        let mut session = cx.session().await?;
        let deleted = cx
            .runtime()
            .delete_all(
                &mut session,
                &self.model,
                self.then.as_ref(),
                &cx.initiator(),
            )
            .await?;
        session.finish(cx.cancel()).await?;
        let listed = if self.verbose {
            deleted.as_slice()
        } else {
            &[]
        };
        cx.answer(
            Self::RESPONSE,
            entity::all_deleted(cx.request(), &self.model, deleted.len(), listed),
        )
    }
}
