//! Adds events to a topic, which begins with its first event.

use std::sync::Arc;

use crate::entity::Document;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{self, topics},
};
use crate::operation::{Access, Context, Family, Operation, Output, paging, turn::in_turn};
use crate::storage::{NewTopicEvent, TopicKey};

/// The longest name of a topic, and the longest type, key and id of an event, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The largest payload, in bytes.
const PAYLOAD_BYTES_MAX: usize = 1 << 20;

/// How many events a request has at most.
const EVENTS_MAX: usize = 1_000;

pub(in crate::operation) struct PublishToTopic {
    topic: TopicKey,
    events: Vec<NewTopicEvent>,
}

impl Operation for PublishToTopic {
    type Payload = topics::Publish<'static>;
    type Answer = topics::Published;

    const REQUEST: EventType = EventType::TopicPublishRequest;
    const RESPONSE: EventType = EventType::TopicPublishResponse;
    const FAMILY: Family = Family::Entity;
    const ACCESS: Access = Access::Write;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: topics::Publish<'_> = payload::decode(payload)?;
        let namespace = paging::namespace(request.namespace)?;
        let count = request.events.len();
        if !(1..=EVENTS_MAX).contains(&count) {
            let message = format!("there are {count} events; give 1 to {EVENTS_MAX} at a time");
            return Err(Failure::bad_parameter("events", message));
        }
        let name = name("topic", request.topic)?;
        let events = request.events.into_iter().enumerate();
        let events = events.map(|(index, event)| read(event).map_err(|bad| bad.of_item(index)));
        Ok(Self {
            topic: TopicKey::new(namespace, name),
            events: events.collect::<Result<_, _>>()?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        if cx.has_token() {
            return self.within_transaction(&cx).await;
        }
        if cx.promised().is_some() {
            return self.once(&cx).await;
        }
        let mut session = cx.session().await?;
        let published = session.unit()?.publish(self.topic, self.events)?;
        session.finish(cx.cancel()).await?;
        Ok(Output::one(topics::Published {
            sequences: published.sequences().to_vec(),
        }))
    }
}

impl PublishToTopic {
    /// The sequences are given when the transaction commits, which is not waited for.
    async fn within_transaction(self, cx: &Context) -> Result<Output<topics::Published>, Failure> {
        let mut session = cx.session().await?;
        session.unit()?.publish(self.topic, self.events)?;
        let published = topics::Published {
            sequences: Vec::new(),
        };
        cx.finish(session, published, Vec::new()).await
    }

    /// The answer is committed with the events, so that the sequences must be known before.
    async fn once(self, cx: &Context) -> Result<Output<topics::Published>, Failure> {
        in_turn(cx, &self.topic, || async {
            let mut session = cx.session().await?;
            let unit = session.unit()?;
            let publishing = unit.publish_next(self.topic.clone(), self.events.clone());
            let published = topics::Published {
                sequences: publishing.await?,
            };
            cx.finish(session, published, Vec::new()).await
        })
        .await
    }
}

fn read(event: topics::NewEvent<'_>) -> Result<NewTopicEvent, Failure> {
    let bytes = event.payload.get().len();
    if bytes > PAYLOAD_BYTES_MAX {
        let message = format!("the payload has {bytes} bytes; at most {PAYLOAD_BYTES_MAX}");
        return Err(Failure::bad_parameter("payload", message));
    }
    let payload = Document::from_raw(event.payload)
        .map_err(|error| Failure::malformed(format!("invalid payload: {error}")))?;
    let optional = |parameter: &'static str, given: Option<String>| {
        given.map(|given| name(parameter, given)).transpose()
    };
    Ok(NewTopicEvent {
        payload: payload.json().shared(),
        kind: optional("type", event.kind)?,
        key: optional("key", event.key)?,
        id: optional("id", event.id)?,
    })
}

fn name(parameter: &'static str, given: String) -> Result<Arc<str>, Failure> {
    if (1..=NAME_BYTES_MAX).contains(&given.len()) {
        return Ok(given.into());
    }
    let message = format!(
        "{parameter} has {} bytes; give it 1 to {NAME_BYTES_MAX}",
        given.len()
    );
    Err(Failure::bad_parameter(parameter, message))
}
