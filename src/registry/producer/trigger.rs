//! Starts by the events of a topic.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::dialect::flo::{self, TriggerMode};

/// How many bytes of payloads the input of a run has at most.
const INPUT_BYTES_MAX: usize = 1 << 20;

/// A trigger, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    pub topic: Box<str>,
    /// Where the topic is.
    pub namespace: Box<str>,
    pub consumer_group: Box<str>,
    /// `shared`, `exclusive` or `key_shared`. Runs are started in the topic's order in each of
    /// them, which keeps what each promises.
    pub mode: Box<str>,
    pub batch_size: u32,
    pub batch_timeout_ms: u64,
    /// The sequence of the last event that has started a run.
    pub position: u64,
}

/// An event of a topic, as triggers see it.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    pub sequence: u64,
    /// JSON.
    pub payload: &'a str,
    pub time: Timestamp,
}

/// What to do with the events that a trigger has not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Batch {
    /// The first so many start a run.
    Start(usize),
    /// There are too few; they are enough at that time.
    Wait(Timestamp),
    Nothing,
}

impl Trigger {
    /// What a document says; on the same topic, with the position of what was there before.
    pub(super) fn of(trigger: &flo::Trigger, namespace: &str, before: Option<&Self>) -> Self {
        let at: &str = trigger.namespace.as_deref().unwrap_or(namespace);
        let is_same = |it: &&Self| *it.topic == *trigger.topic && *it.namespace == *at;
        Self {
            topic: (*trigger.topic).into(),
            namespace: at.into(),
            consumer_group: (*trigger.consumer_group).into(),
            mode: match trigger.mode {
                TriggerMode::Shared => "shared",
                TriggerMode::Exclusive => "exclusive",
                TriggerMode::KeyShared => "key_shared",
            }
            .into(),
            batch_size: trigger.batch_size,
            batch_timeout_ms: u64::try_from(trigger.batch_timeout.as_millis()).unwrap_or(u64::MAX),
            position: before.filter(is_same).map_or(0, |it| it.position),
        }
    }

    /// How many of the next events make a batch. A batch is complete when it has its size, when
    /// another payload would make its input too large, or when its first event has waited long
    /// enough.
    pub fn batch(&self, events: &[Event<'_>], now: Timestamp) -> Batch {
        let Some(first) = events.first() else {
            return Batch::Nothing;
        };
        let size = usize::try_from(self.batch_size)
            .unwrap_or(usize::MAX)
            .max(1);
        let (mut bytes, mut count) = (2, 0);
        for event in events.iter().take(size) {
            bytes += event.payload.len() + 1;
            if count > 0 && bytes > INPUT_BYTES_MAX {
                return Batch::Start(count);
            }
            count += 1;
        }
        let complete = first
            .time
            .after(Duration::from_millis(self.batch_timeout_ms));
        if count == size || complete <= now {
            Batch::Start(count)
        } else {
            Batch::Wait(complete)
        }
    }

    /// The input of a run: the payload, or those of a batch.
    pub fn input(&self, events: &[Event<'_>]) -> String {
        let mut payloads = events.iter().map(|event| event.payload);
        if self.batch_size <= 1 {
            return payloads.next().unwrap_or("null").to_owned();
        }
        let payloads: Vec<_> = payloads.collect();
        format!("[{}]", payloads.join(","))
    }

    /// The idempotency key of a run, made of its last event.
    pub fn key(&self, last: &Event<'_>) -> String {
        let (topic, time) = (&self.topic, last.time.millis());
        format!("trigger:{topic}@{time}:{}", last.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(batch_size: u32) -> Trigger {
        let trigger = flo::Trigger {
            topic: "orders".into(),
            namespace: None,
            consumer_group: "wf-a".into(),
            mode: TriggerMode::KeyShared,
            batch_size,
            batch_timeout: Duration::from_secs(5),
        };
        Trigger::of(&trigger, "default", None)
    }

    fn event(sequence: u64, second: i64, payload: &str) -> Event<'_> {
        Event {
            sequence,
            payload,
            time: Timestamp::from_micros(second * 1_000_000),
        }
    }

    #[test]
    fn a_batch_starts_when_it_is_full_large_or_old() {
        let now = Timestamp::from_micros(12_000_000);
        let large = format!("\"{}\"", "x".repeat(600_000));
        let events = |count: u64, second: i64| -> Vec<_> {
            (1..=count).map(|at| event(at, second, "{}")).collect()
        };
        for (size, events, expected) in [
            (1, Vec::new(), Batch::Nothing),
            (1, events(3, 12), Batch::Start(1)),
            (3, events(3, 12), Batch::Start(3)),
            (3, events(5, 12), Batch::Start(3)),
            (
                3,
                events(2, 10),
                Batch::Wait(Timestamp::from_micros(15_000_000)),
            ),
            (3, events(2, 7), Batch::Start(2)),
            (
                3,
                vec![event(1, 12, &large), event(2, 12, &large)],
                Batch::Start(1),
            ),
        ] {
            assert_eq!(trigger(size).batch(&events, now), expected, "{size}");
        }
    }

    #[test]
    fn the_input_is_the_payload_or_a_list() {
        let events = [event(1, 1, r#"{"a":1.50}"#), event(2, 2, "7")];
        assert_eq!(trigger(1).input(&events[..1]), r#"{"a":1.50}"#);
        assert_eq!(trigger(2).input(&events[..1]), r#"[{"a":1.50}]"#);
        assert_eq!(trigger(2).input(&events), r#"[{"a":1.50},7]"#);
        assert_eq!(trigger(2).key(&events[1]), "trigger:orders@2000:2");
    }

    #[test]
    fn a_position_survives_a_new_definition_on_the_same_topic() {
        let mut before = trigger(1);
        before.position = 9;
        let mut document = flo::Trigger {
            topic: "orders".into(),
            namespace: Some("default".into()),
            consumer_group: "other".into(),
            mode: TriggerMode::Shared,
            batch_size: 4,
            batch_timeout: Duration::from_secs(1),
        };
        assert_eq!(Trigger::of(&document, "default", Some(&before)).position, 9);
        document.namespace = Some("elsewhere".into());
        assert_eq!(Trigger::of(&document, "default", Some(&before)).position, 0);
    }
}
