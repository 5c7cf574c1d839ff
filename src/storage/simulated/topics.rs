//! Topics and their events.
#![cfg(test)]

use std::sync::Arc;

use super::State;
use crate::clock::Timestamp;
use crate::storage::port::{
    Batch, ListedTopic, TenantRow, TopicEvent, TopicHead, TopicKey, TopicPage, TopicRow,
};

impl State {
    pub(in crate::storage) fn newest_topic(&self) -> TopicRow {
        TopicRow(self.topics.last_key_value().map_or(0, |(o, _)| *o))
    }

    pub(in crate::storage) fn topic_heads(
        &self,
        names: &[(TenantRow, TopicKey)],
    ) -> Vec<(usize, TopicHead)> {
        let head = |(place, (tenant, key)): (usize, &(TenantRow, TopicKey))| {
            let mut topics = self.topics.values();
            let topic = topics.find(|topic| {
                (topic.t, &topic.ns, &topic.name) == (tenant.0, &key.namespace, &key.name)
            })?;
            let head = TopicHead {
                row: TopicRow(topic.o),
                last: topic.last,
            };
            Some((place, head))
        };
        names.iter().enumerate().filter_map(head).collect()
    }

    pub(in crate::storage) fn topic_ids(
        &self,
        topic: TopicRow,
        ids: &[Arc<str>],
    ) -> Vec<(Arc<str>, i64)> {
        let events = self
            .topic_events
            .values()
            .filter(|event| event.o == topic.0);
        let known = events.filter_map(|event| Some((event.id.clone()?, event.n)));
        known.filter(|(id, _)| ids.contains(id)).collect()
    }

    pub(in crate::storage) fn topic_first(&self, topic: TopicRow) -> Option<i64> {
        let events = self.topic_events.range((topic.0, 0)..=(topic.0, i64::MAX));
        events.map(|((_, n), _)| *n).next()
    }

    pub(in crate::storage) fn topic_events(
        &self,
        topic: TopicRow,
        after: i64,
        limit: i64,
        _: i64,
    ) -> Vec<TopicEvent> {
        let events = self
            .topic_events
            .range((topic.0, after + 1)..=(topic.0, i64::MAX));
        let limit = usize::try_from(limit).expect("a number of rows");
        let event = |(_, row): (_, &crate::storage::port::TopicEventRow)| TopicEvent {
            sequence: row.n,
            at: Timestamp::from_micros(row.at),
            payload: Arc::clone(&row.data),
            kind: row.kind.clone(),
            key: row.key.clone(),
            id: row.id.clone(),
        };
        events.take(limit).map(event).collect()
    }

    pub(in crate::storage) fn topics(&self, page: TopicPage<'_>) -> Vec<ListedTopic> {
        let of_page = self.topics.values().filter(|topic| {
            (topic.t, &*topic.ns) == (page.tenant.0, page.namespace)
                && page.after.is_none_or(|after| &*topic.name > after)
        });
        let mut listed: Vec<_> = of_page
            .map(|topic| ListedTopic {
                name: Arc::clone(&topic.name),
                first: self
                    .topic_first(TopicRow(topic.o))
                    .unwrap_or(topic.last + 1),
                last: topic.last,
            })
            .collect();
        listed.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        listed.truncate(usize::try_from(page.limit).expect("a number of rows"));
        listed
    }

    pub(super) fn write_topics(&mut self, batch: &Batch) {
        for topic in &batch.topics {
            self.topics.insert(topic.o, topic.clone());
        }
        for event in &batch.topic_events {
            let before = self.topic_events.insert((event.o, event.n), event.clone());
            if before.is_some() {
                self.violations.push(format!("{event:?} a second time"));
            }
        }
    }
}
