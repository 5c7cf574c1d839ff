//! Deletes entities of a model, all or those that satisfy a condition, in one transaction
//! (`rest.md` §3.7, `grpc.md` §8.2).

use std::sync::Arc;

use super::{
    Access, Context, Family, Operation, Output,
    conditions::{compile, in_time},
};
use crate::clock::PointInTime;
use crate::condition::{self, Condition};
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self, AsText,
        entity::{self, AllDeleted},
    },
};
use crate::id::ModelKey;
use crate::runtime::Session;
use crate::search::{Matches, View};
use crate::storage::Definitions;

/// How many entities that could not be deleted are listed.
const FAILED_MAX: usize = 100_000;

pub(super) struct DeleteEntities {
    model: ModelKey,
    condition: Arc<Condition>,
    /// Whether no condition was sent.
    all: bool,
    then: Option<PointInTime>,
    verbose: bool,
}

impl Operation for DeleteEntities {
    type Payload = entity::DeleteAll<'static>;
    type Answer = AllDeleted;

    const REQUEST: EventType = EventType::EntityDeleteAllRequest;
    const RESPONSE: EventType = EventType::EntityDeleteAllResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;
    const STORES: bool = false;
    const HAS_CONDITION: bool = true;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: entity::DeleteAll<'_> = payload::decode(payload)?;
        let all = request.condition.is_none();
        let condition = match request.condition {
            None => Condition::everything(),
            Some(given) => Condition::parse_deletion(given.get()).map_err(bad_condition)?,
        };
        Ok(Self {
            model: request.model.into(),
            condition: condition.into(),
            all,
            then: entity::point_in_time(request.point_in_time.as_deref())?,
            verbose: request.verbose == Some(true),
        })
    }

    async fn run(mut self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        if self.all && cx.runtime().compat().all_are_deleted_as_of_now() {
            (self.then, self.verbose) = (None, false);
        }
        compile(&cx, &self.condition).await?;
        let definitions = cx.definitions(&self.model).await?;
        let mut session = cx.session().await?;
        let view = match &self.then {
            Some(then) => {
                let at = cx.storage().at(then).await?;
                View::as_of(cx.storage().snapshot(&cx.caller().tenant, at).await?)
            }
            None => View::of(session.unit()?, &definitions).await?,
        };
        let deleted = in_time(&cx, self.delete(&cx, &mut session, view, &definitions)).await?;
        cx.finish(session, deleted, Vec::new()).await
    }
}

impl DeleteEntities {
    /// Deletes what satisfies the condition, in the transaction of the session.
    async fn delete(
        &self,
        cx: &Context,
        session: &mut Session,
        view: View,
        definitions: &Arc<Definitions>,
    ) -> Result<AllDeleted, Failure> {
        let by = cx.initiator();
        let undeclared = cx.runtime().undeclared_values();
        let mut matches = Matches::new(view, definitions, &self.condition, undeclared).await?;
        let mut deleted = AllDeleted::of(&self.model);
        while let Some(found) = matches.next().await? {
            let outcomes = cx
                .runtime()
                .delete_found(session, found, self.then.as_ref(), &by)
                .await?;
            for (id, outcome) in outcomes {
                match outcome {
                    Ok(()) => {
                        deleted.num_deleted += 1;
                        deleted
                            .entity_ids
                            .extend(self.verbose.then_some(AsText(id)));
                    }
                    Err(failure) => {
                        let error = failure.to_string();
                        deleted.errors_by_id.insert(id.to_string(), error);
                    }
                }
            }
            if deleted.errors_by_id.len() > FAILED_MAX {
                return Err(Failure::new(
                    Code::TransactionTooLarge,
                    format!(
                        "more than {FAILED_MAX} of the entities that matched then have been \
                         deleted since; narrow the condition or use a later pointInTime"
                    ),
                ));
            }
        }
        Ok(deleted)
    }
}

/// The failure of a condition that cannot be read, where that is a bad condition instead of a bad
/// request (`errors.md` §3.4).
pub(super) fn bad_condition(error: condition::Error) -> Failure {
    match Failure::from(error) {
        failure if failure.code() == Code::BadRequest => {
            Failure::new(Code::InvalidCondition, failure.message())
        }
        failure => failure,
    }
}
