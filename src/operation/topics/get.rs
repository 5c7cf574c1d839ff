//! Answers a part of a topic.

use std::sync::Arc;

use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, AsText, RawJson, topics},
};
use crate::operation::{
    Access, Context, Family, Operation, Output,
    paging::{self, Paging},
};
use crate::storage::{TopicEvent, TopicKey};

pub(in crate::operation) struct GetTopic {
    topic: TopicKey,
    after: i64,
    limit: usize,
}

impl Operation for GetTopic {
    type Payload = topics::Get;
    type Answer = topics::Part;

    const REQUEST: EventType = EventType::TopicGetRequest;
    const RESPONSE: EventType = EventType::TopicGetResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: topics::Get = payload::decode(payload)?;
        let after = request.from_sequence.unwrap_or(0);
        if after < 0 {
            let message = format!("fromSequence {after} is less than 0");
            return Err(Failure::bad_parameter("fromSequence", message));
        }
        Ok(Self {
            topic: TopicKey::new(paging::namespace(request.namespace)?, request.topic),
            after,
            limit: Paging::read(request.limit, None)?.limit,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let (storage, tenant) = (cx.storage(), &cx.caller().tenant);
        let found = storage.topic(tenant, &self.topic, self.after, self.limit);
        let (topic, events) = found.await?.ok_or_else(|| not_found(&self.topic))?;
        Ok(Output::one(topics::Part {
            first: topic.first,
            last: topic.last,
            items: events.into_iter().map(event).collect(),
        }))
    }
}

fn event(event: TopicEvent) -> topics::Event {
    let text = |text: Arc<str>| text.to_string();
    topics::Event {
        sequence: event.sequence,
        payload: RawJson::trusted(event.payload),
        kind: event.kind.map(text),
        key: event.key.map(text),
        id: event.id.map(text),
        time: AsText(event.at),
    }
}

fn not_found(topic: &TopicKey) -> Failure {
    let TopicKey { namespace, name } = topic;
    let message = format!(
        "no topic is named \"{name}\" in the namespace \"{namespace}\"; it begins with its first event"
    );
    Failure::new(Code::TopicNotFound, message).with("topic", &**name)
}
