//! Lists workers, and members with what they announced, by id.

use std::sync::Arc;

use super::{seen, worker};
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, workers},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};

pub(in crate::operation) struct ListWorkers {
    namespace: Arc<str>,
    paging: Paging,
}

impl Operation for ListWorkers {
    type Payload = workers::List;
    type Answer = workers::Page;

    const REQUEST: EventType = EventType::WorkersGetRequest;
    const RESPONSE: EventType = EventType::WorkersGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: workers::List = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = self.paging;
        let tenant = &cx.caller().tenant;
        let channels = cx.channels();
        let mut found = channels.workers(tenant, &self.namespace, after.as_deref(), limit + 1);
        let has_more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| has_more);
        let pagination = paging::pagination(last.map(|last| &*last.id));
        let seen = seen(&cx);
        let items = found.into_iter().map(|facts| worker(facts, &seen));
        Ok(Output::one(workers::Page {
            items: items.collect(),
            pagination,
        }))
    }
}
