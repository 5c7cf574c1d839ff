//! Shows what is known of the executors of a plan.

use std::sync::Arc;

use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self, AsText,
        runs::{self, Executor},
    },
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};
use crate::program::{BreakerView, ExecutorView};

pub(in crate::operation) struct GetPlan {
    namespace: Arc<str>,
    definition: String,
    plan: String,
}

impl Operation for GetPlan {
    type Payload = runs::GetPlan;
    type Answer = runs::Plan;

    const REQUEST: EventType = EventType::PlanGetRequest;
    const RESPONSE: EventType = EventType::PlanGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: runs::GetPlan = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            definition: request.definition,
            plan: request.plan,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let tenant = &cx.caller().tenant;
        let definition = cx
            .registry()
            .definition(tenant, &self.namespace, &self.definition, None)
            .await?;
        let (name, program) = (&self.definition, &definition.program);
        let view = cx
            .runtime()
            .plan_view(tenant, &self.namespace, name, &self.plan, program);
        let (executors, cache_entries) = view.ok_or_else(|| {
            Failure::new(
                Code::RunDefinitionNotFound,
                format!("the definition \"{name}\" has no plan \"{}\"", self.plan),
            )
        })?;
        Ok(Output::one(runs::Plan {
            executors: executors.into_iter().map(Into::into).collect(),
            cache_entries,
        }))
    }
}

impl From<ExecutorView> for Executor {
    fn from(view: ExecutorView) -> Self {
        let (breaker, open_until, half_open_calls) = match view.breaker {
            BreakerView::Closed => ("closed", None, 0),
            BreakerView::Open { until } => ("open", Some(AsText(until)), 0),
            BreakerView::HalfOpen { calls } => ("half_open", None, calls),
        };
        Self {
            name: view.name.into(),
            score: view.score,
            api_rate: view.api_rate,
            business_rate: view.business_rate,
            samples: view.samples,
            breaker,
            open_until,
            half_open_calls,
            last_second: view.last_second,
            last_minute: view.last_minute,
            last_hour: view.last_hour,
        }
    }
}
