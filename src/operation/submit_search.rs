//! Starts a background search, whose result is kept for a while (`search.md` §6).

use std::sync::Arc;

use super::{
    Access, Context, Family, Operation, Output,
    conditions::compile,
    search_entities::{check_order, condition_around, order},
    search_status::status,
};
use crate::clock::PointInTime;
use crate::condition::Condition;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, entity::point_in_time, search},
};
use crate::id::{JobId, ModelKey};
use crate::search::{Asked, Order};

pub(super) struct SubmitSearch {
    model: ModelKey,
    condition: Arc<Condition>,
    /// The condition as it was given.
    text: Box<str>,
    order: Order,
    then: Option<PointInTime>,
}

impl Operation for SubmitSearch {
    type Payload = search::SnapshotSearch<'static>;
    type Answer = search::SnapshotAnswer;

    const REQUEST: EventType = EventType::EntitySnapshotSearchRequest;
    const RESPONSE: EventType = EventType::EntitySnapshotSearchResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Write;
    const HAS_CONDITION: bool = true;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::SnapshotSearch<'_> = payload::decode(payload)?;
        let text = request.condition.get();
        let (condition, order) = condition_around(text, || order(request.order_by))?;
        Ok(Self {
            condition: condition.into(),
            text: text.into(),
            order,
            model: request.model.into(),
            then: point_in_time(request.point_in_time.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        self.order.check_count(cx.sort_keys_max())?;
        compile(&cx, &self.condition).await?;
        let definitions = cx.definitions(&self.model).await?;
        let mut asked = Asked {
            definitions: &definitions,
            condition: &self.condition,
            text: &self.text,
            undeclared: cx.runtime().undeclared(&definitions),
            order: &self.order,
            // Whatever transaction the request may quote: it runs outside of any.
            at: cx.storage().latest(),
        };
        check_order(&cx, &self.order)?;
        asked.check()?;
        if let Some(then) = &self.then {
            asked.at = cx.storage().at(then).await?;
        }
        let (tenant, id) = (&cx.caller().tenant, JobId::fresh());
        let job = asked.job(cx.storage().now());
        let answer = status(id, &job);
        let outcome = cx.outcome(&answer, &[]);
        let _critical = cx.critical();
        cx.jobs().submit(tenant, id, &job, &asked, outcome).await?;
        Ok(Output::one(answer))
    }
}
