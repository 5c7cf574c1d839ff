//! Answers an action.

use std::sync::Arc;

use super::counted;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, actions},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging};

pub(in crate::operation) struct GetAction {
    namespace: Arc<str>,
    name: String,
}

impl Operation for GetAction {
    type Payload = actions::Get;
    type Answer = actions::Item;

    const REQUEST: EventType = EventType::ActionGetRequest;
    const RESPONSE: EventType = EventType::ActionGetResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: actions::Get = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            name: request.name,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let (registry, tenant) = (cx.registry(), &cx.caller().tenant);
        let action = registry.action_named(tenant, &self.namespace, &self.name);
        let mut counted = counted(&cx, &self.namespace, vec![action.await?]);
        counted
            .pop()
            .map(Output::one)
            .ok_or_else(|| Failure::internal("an action was lost while it was counted"))
    }
}
