//! Topics: named, kept, ordered lists of events.
//!
//! The committer gives events their sequences, so that units that publish to the same topic do not
//! conflict with each other.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::UnitOfWork;
use crate::id::Tenant;
use crate::storage::{
    Error, Storage,
    draft::{EVENT_BYTES, NewTopicEvent, Publication, Published, TopicView},
    memory::PublishedTypes,
    port::{ListedTopic, TopicEvent, TopicKey, TopicPage, TopicRow},
};

/// How many bytes of payloads are read at once; one event more may go beyond.
const PART_BYTES: i64 = 4 << 20;

impl Storage {
    /// A topic, and its events after a sequence: `limit` at most, fewer if they are large. None if
    /// there is no such topic.
    pub async fn topic(
        &self,
        tenant: &Tenant,
        topic: &TopicKey,
        after: i64,
        limit: usize,
    ) -> Result<Option<(ListedTopic, Vec<TopicEvent>)>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(None);
        };
        let database = &self.0.database;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let head = database.topic_heads(&[(tenant, topic.clone())]).await?;
        let Some((_, head)) = head.first() else {
            return Ok(None);
        };
        let first = database.topic_first(head.row).await?;
        let events = database
            .topic_events(head.row, after, limit, PART_BYTES)
            .await?;
        let newest = events.last().map_or(0, |event| event.sequence);
        let listed = ListedTopic {
            name: Arc::clone(&topic.name),
            first: first.unwrap_or(head.last + 1),
            last: head.last.max(newest),
        };
        self.once_durable(Some((listed, events))).await
    }

    /// The topics of all tenants that have got events since the last call. Of those that got some
    /// before the first call nothing is known.
    pub fn changed_topics(&self) -> HashSet<(Tenant, TopicKey)> {
        self.0.topic_news.take()
    }

    /// The types of the events that any process has published since the last call, by tenant. Of those
    /// before the first call nothing is known.
    pub fn published_types(&self) -> HashMap<Tenant, PublishedTypes> {
        self.0.topic_news.take_types()
    }

    /// Returns once a topic may have got events since [`Self::changed_topics`] was called; to one
    /// caller.
    pub async fn topics_changed(&self) {
        self.0.topic_news.changed().await;
    }

    /// The topics of a namespace, by name: those after one, `limit` at most.
    pub async fn topics(
        &self,
        tenant: &Tenant,
        namespace: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ListedTopic>, Error> {
        let Some(tenant) = self.tenant_row(tenant).await? else {
            return Ok(Vec::new());
        };
        let page = TopicPage {
            tenant,
            namespace,
            after,
            limit: i64::try_from(limit).unwrap_or(i64::MAX),
        };
        let found = self.0.database.topics(page).await?;
        self.once_durable(found).await
    }
}

impl UnitOfWork {
    /// Adds events to a topic, which is made if there is none of that name.
    pub fn publish(
        &mut self,
        topic: TopicKey,
        events: Vec<NewTopicEvent>,
    ) -> Result<Published, Error> {
        self.add_publication(topic, events, None)
    }

    /// Adds events to a topic, and returns the sequences that they will have. If somebody else
    /// publishes to the topic before the commit, the commit fails with a conflict. The unit must
    /// not have published to the topic before.
    pub async fn publish_next(
        &mut self,
        topic: TopicKey,
        events: Vec<NewTopicEvent>,
    ) -> Result<Vec<i64>, Error> {
        let mut view = TopicView::default();
        let mut last = 0;
        if let Some(row) = self.storage.tenant_row(&self.tenant).await? {
            let database = &self.storage.0.database;
            let heads = database.topic_heads(&[(row, topic.clone())]).await?;
            if let Some((_, head)) = heads.first() {
                last = head.last;
                view.know(&self.tenant, &topic, *head);
                let ids: Vec<_> = events.iter().filter_map(|event| event.id.clone()).collect();
                for (id, sequence) in database.topic_ids(head.row, &ids).await? {
                    view.know_id(&self.tenant, &topic, id, sequence);
                }
            }
        }
        self.add_publication(topic, events, Some(last))?;
        let Some(publication) = self.publications.last() else {
            return Ok(Vec::new());
        };
        let placed = view.place(&self.tenant, publication, || TopicRow(0));
        let sequences = placed.sequences.into_iter();
        Ok(sequences.map(|(sequence, _)| sequence).collect())
    }

    /// The sequence of the oldest event of a topic that is kept; of the next one if none is.
    pub async fn topic_first(&self, topic: &TopicKey) -> Result<i64, Error> {
        let found = self.storage.topic(&self.tenant, topic, 0, 0).await?;
        Ok(found.map_or(1, |(listed, _)| listed.first))
    }

    fn add_publication(
        &mut self,
        topic: TopicKey,
        events: Vec<NewTopicEvent>,
        expects: Option<i64>,
    ) -> Result<Published, Error> {
        let bytes = events.iter().map(|event| event.bytes() + EVENT_BYTES);
        self.grow(bytes.sum())?;
        let published = Published::default();
        self.publications.push(Publication {
            topic,
            events,
            expects,
            published: published.clone(),
        });
        Ok(published)
    }
}
