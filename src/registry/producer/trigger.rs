//! Starts by the events of a topic.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::dialect::flo::{self, TriggerMode};
use crate::storage::TopicKey;

/// How many bytes of payloads the input of a run has at most.
const INPUT_BYTES_MAX: usize = 1 << 20;

/// How many events a batch has at most, whatever the document says.
const BATCH_MAX: usize = 10_000;

/// How many runs that a trigger started may be live. The events that follow wait.
const LIVE_MAX: usize = 1_000;

/// The smallest number of runs of which it is checked whether they are live.
const CHECKED_MIN: usize = 32;

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
    pub position: i64,
    /// When it was created, in microseconds: what one before it has started counts for nothing. 0 of
    /// those that were created before this was known.
    #[serde(default)]
    pub since: i64,
    /// The oldest event that was kept when it was created. 0 while that is not known.
    #[serde(default)]
    oldest: i64,
    /// How many events were removed from the topic before they started a run.
    #[serde(default)]
    missed: i64,
    /// The runs that it started and that may be live, by number.
    #[serde(default)]
    pub live: Vec<i64>,
    /// How many of them were live when that was checked last.
    #[serde(default)]
    checked: usize,
    /// Stopped by an operator, after it failed too often.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

/// An event of a topic, as triggers see it.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    pub sequence: i64,
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
    /// What a document says; on the same topic, with the place of what was there before.
    pub(super) fn of(
        trigger: &flo::Trigger,
        namespace: &str,
        before: Option<&Self>,
        now: Timestamp,
    ) -> Self {
        let at: &str = trigger.namespace.as_deref().unwrap_or(namespace);
        let is_same = |it: &&Self| *it.topic == *trigger.topic && *it.namespace == *at;
        let same = before.filter(is_same);
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
            position: same.map_or(0, |it| it.position),
            since: same.map_or_else(|| now.micros(), |it| it.since),
            oldest: same.map_or(0, |it| it.oldest),
            missed: same.map_or(0, |it| it.missed),
            live: before.map(|it| it.live.clone()).unwrap_or_default(),
            checked: before.map_or(0, |it| it.checked),
            paused: false,
        }
    }

    /// Whether it has no place in its topic yet.
    pub(super) const fn is_new(&self) -> bool {
        self.position == 0 && self.oldest == 0
    }

    /// It begins with that event, the oldest that is kept.
    pub(super) const fn begin_at(&mut self, oldest: i64) {
        self.oldest = oldest;
    }

    /// How many events were removed before they started a run, if that one is the oldest that is
    /// kept.
    pub fn missed(&self, oldest: i64) -> i64 {
        if self.is_new() {
            return self.missed;
        }
        let read = self.position.max(self.oldest - 1);
        self.missed + (oldest - 1 - read).max(0)
    }

    /// Counts the events that were removed before they started a run, as the next one that it reads
    /// shows; how many more they are now.
    pub fn skip_to(&mut self, next: &Event<'_>) -> i64 {
        let before = self.missed;
        self.missed = self.missed(next.sequence);
        self.missed - before
    }

    /// The topic that it reads.
    pub fn topic(&self) -> TopicKey {
        TopicKey::new(Arc::from(&*self.namespace), Arc::from(&*self.topic))
    }

    /// How many events a run takes.
    pub fn size(&self) -> usize {
        let size = usize::try_from(self.batch_size).unwrap_or(usize::MAX);
        size.clamp(1, BATCH_MAX)
    }

    /// How many runs may be started; less than none never.
    pub fn room(&self) -> usize {
        LIVE_MAX.saturating_sub(self.live.len())
    }

    /// Whether it is time to find out which of its runs are still live: there is no room, or there
    /// are twice as many as then. Over time, that is about one look for each start.
    pub fn is_to_be_checked(&self) -> bool {
        let doubled = self.checked.max(CHECKED_MIN) * 2;
        self.live.len() >= doubled.min(LIVE_MAX)
    }

    /// These of its runs are live.
    pub fn checked(&mut self, live: Vec<i64>) {
        self.checked = live.len();
        self.live = live;
    }

    /// The events up to that one have started a run.
    pub fn start(&mut self, last: &Event<'_>, run: i64) {
        self.position = last.sequence;
        self.live.push(run);
    }

    /// How many of the next events make a batch. A batch is complete when it has its size, when
    /// another payload would make its input too large, or when its first event has waited long
    /// enough. How long an event of the future has waited is unknown: the clock was set back.
    pub fn batch(&self, events: &[Event<'_>], now: Timestamp) -> Batch {
        let Some(first) = events.first() else {
            return Batch::Nothing;
        };
        let size = self.size();
        let (mut bytes, mut count) = (2, 0);
        for event in events.iter().take(size) {
            bytes += event.payload.len() + 1;
            if count > 0 && bytes > INPUT_BYTES_MAX {
                return Batch::Start(count);
            }
            count += 1;
        }
        let wait = Duration::from_millis(self.batch_timeout_ms);
        let complete = first.time.after(wait);
        if count == size || complete <= now || first.time > now.after(wait) {
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
        Trigger::of(&trigger, "default", None, Timestamp::from_micros(7))
    }

    fn event(sequence: i64, second: i64, payload: &str) -> Event<'_> {
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
        let events = |count: i64, second: i64| -> Vec<_> {
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
                events(2, 17),
                Batch::Wait(Timestamp::from_micros(22_000_000)),
            ),
            (3, events(2, 18), Batch::Start(2)),
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
    fn a_trigger_has_at_most_a_thousand_live_runs() {
        let mut trigger = trigger(1);
        let mut checks = 0;
        for number in 1..=10_000 {
            if trigger.is_to_be_checked() {
                checks += 1;
                let live = trigger.live.iter().copied();
                let live = live.filter(|run| run % 2 == 0).collect();
                trigger.checked(live);
            }
            if trigger.room() == 0 {
                break;
            }
            trigger.start(&event(number, 1, "7"), number);
        }
        assert_eq!(trigger.live.len(), 1_000);
        assert!(trigger.live.iter().all(|run| run % 2 == 0));
        assert!(checks < 30, "{checks}");
        assert!(trigger.is_to_be_checked());
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
        let later = Timestamp::from_micros(8);
        let after = Trigger::of(&document, "default", Some(&before), later);
        assert_eq!((after.position, after.since), (9, 7));
        document.namespace = Some("elsewhere".into());
        let after = Trigger::of(&document, "default", Some(&before), later);
        assert_eq!((after.position, after.since), (0, 8));
    }

    #[test]
    fn events_that_are_removed_unread_are_counted() {
        let mut trigger = trigger(1);
        // Stored by a version that did not know what was there before it.
        assert_eq!(trigger.missed(100), 0);
        trigger.begin_at(4);
        for (oldest, missed) in [(1, 0), (4, 0), (6, 2)] {
            assert_eq!(trigger.missed(oldest), missed, "{oldest}");
        }
        let next = event(6, 1, "7");
        assert_eq!(trigger.skip_to(&next), 2);
        trigger.start(&next, 1);
        assert_eq!(trigger.missed(7), 2);
        let next = event(10, 1, "7");
        assert_eq!(trigger.skip_to(&next), 3);
        trigger.start(&next, 2);
        assert_eq!(trigger.missed(11), 5);
        assert_eq!(trigger.missed(8), 5);
    }
}
