//! Lists actions by name.

use std::sync::Arc;

use super::counted;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, actions},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};

pub(in crate::operation) struct ListActions {
    namespace: Arc<str>,
    paging: Paging,
}

impl Operation for ListActions {
    type Payload = actions::List;
    type Answer = actions::Page;

    const REQUEST: EventType = EventType::ActionsGetRequest;
    const RESPONSE: EventType = EventType::ActionsGetResponse;
    const FAMILY: Family = Family::Model;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: actions::List = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = self.paging;
        let (registry, tenant) = (cx.registry(), &cx.caller().tenant);
        let found = registry.actions(tenant, &self.namespace, after.as_deref(), limit + 1);
        let (found, pagination) = paging::page(found.await?, limit, |action| &action.name);
        Ok(Output::one(actions::Page {
            pagination,
            items: counted(&cx, &self.namespace, found),
        }))
    }
}
