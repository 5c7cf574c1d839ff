//! Lists topics by name.

use std::sync::Arc;

use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, topics},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};

pub(in crate::operation) struct ListTopics {
    namespace: Arc<str>,
    paging: Paging,
}

impl Operation for ListTopics {
    type Payload = topics::List;
    type Answer = topics::Page;

    const REQUEST: EventType = EventType::TopicsGetRequest;
    const RESPONSE: EventType = EventType::TopicsGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: topics::List = payload::decode(payload)?;
        Ok(Self {
            namespace: paging::namespace(request.namespace)?,
            paging: Paging::read(request.limit, request.cursor.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let Paging { limit, after } = self.paging;
        let (storage, tenant) = (cx.storage(), &cx.caller().tenant);
        let found = storage.topics(tenant, &self.namespace, after.as_deref(), limit + 1);
        let (found, pagination) = paging::page(found.await?, limit, |topic| &topic.name);
        Ok(Output::one(topics::Page {
            pagination,
            items: found
                .iter()
                .map(|topic| topics::Item {
                    topic: topic.name.to_string(),
                    first: topic.first,
                    last: topic.last,
                })
                .collect(),
        }))
    }
}
