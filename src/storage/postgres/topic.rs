//! Topics and their events.

use std::sync::Arc;

use super::{Postgres, text::text};
use crate::clock::Timestamp;
use crate::id::Tenant;
use crate::storage::{
    port::{Error, ListedTopic, TenantRow, TopicEvent, TopicHead, TopicKey, TopicPage, TopicRow},
    rows::TopicEventData,
};

const TOPIC_EVENTS: &str = include_str!("sql/topic_events.sql");
const TOPIC_FIRST: &str = include_str!("sql/topic_first.sql");
const TOPIC_HEADS: &str = include_str!("sql/topic_heads.sql");
const TOPIC_IDS: &str = include_str!("sql/topic_ids.sql");
const TOPIC_LIST: &str = include_str!("sql/topic_list.sql");
const TOPIC_NEWEST: &str = include_str!("sql/topic_newest.sql");
const TOPIC_OLD: &str = include_str!("sql/topic_old.sql");

impl Postgres {
    pub(in crate::storage) async fn newest_topic(&self) -> Result<TopicRow, Error> {
        let newest: i64 = sqlx::query_scalar(TOPIC_NEWEST)
            .fetch_one(&self.reads)
            .await?;
        Ok(TopicRow(newest))
    }

    /// Of those topics that there are, the place in the list and how far each goes.
    pub(in crate::storage) async fn topic_heads(
        &self,
        names: &[(TenantRow, TopicKey)],
    ) -> Result<Vec<(usize, TopicHead)>, Error> {
        let tenants: Vec<i64> = names.iter().map(|(tenant, _)| tenant.0).collect();
        let namespaces: Vec<_> = names.iter().map(|(_, key)| text(&key.namespace)).collect();
        let keys: Vec<_> = names.iter().map(|(_, key)| text(&key.name)).collect();
        let rows: Vec<(i64, i64, i64)> = sqlx::query_as(TOPIC_HEADS)
            .bind(tenants)
            .bind(namespaces)
            .bind(keys)
            .fetch_all(&self.reads)
            .await?;
        let head = |(place, o, last): (i64, i64, i64)| {
            let head = TopicHead {
                row: TopicRow(o),
                last,
            };
            (usize::try_from(place).unwrap_or(usize::MAX), head)
        };
        Ok(rows.into_iter().map(head).collect())
    }

    /// The sequences of those events of a topic that have one of these ids.
    pub(in crate::storage) async fn topic_ids(
        &self,
        topic: TopicRow,
        ids: &[Arc<str>],
    ) -> Result<Vec<(Arc<str>, i64)>, Error> {
        let rows: Vec<(String, i64)> = sqlx::query_as(TOPIC_IDS)
            .bind(topic.0)
            .bind(ids.iter().map(|id| text(id)).collect::<Vec<_>>())
            .fetch_all(&self.reads)
            .await?;
        Ok(rows.into_iter().map(|(id, n)| (id.into(), n)).collect())
    }

    /// The sequence of the oldest event that is kept.
    pub(in crate::storage) async fn topic_first(
        &self,
        topic: TopicRow,
    ) -> Result<Option<i64>, Error> {
        Ok(sqlx::query_scalar(TOPIC_FIRST)
            .bind(topic.0)
            .fetch_one(&self.reads)
            .await?)
    }

    /// The events of a topic after a sequence, up to a number of them and of bytes.
    pub(in crate::storage) async fn topic_events(
        &self,
        topic: TopicRow,
        after: i64,
        limit: i64,
        bytes: i64,
    ) -> Result<Vec<TopicEvent>, Error> {
        let rows: Vec<TopicEventData> = sqlx::query_as(TOPIC_EVENTS)
            .bind(topic.0)
            .bind(after)
            .bind(limit)
            .bind(bytes)
            .fetch_all(&self.reads)
            .await?;
        Ok(rows.into_iter().map(TopicEvent::from).collect())
    }

    /// Of so many of the oldest events, those before a time: by tenant the place of the newest, and
    /// how many bytes they take.
    pub(in crate::storage) async fn topic_old(
        &self,
        before: Timestamp,
        limit: i64,
    ) -> Result<Vec<(Tenant, i64, i64)>, Error> {
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(TOPIC_OLD)
            .bind(before.micros())
            .bind(limit)
            .fetch_all(&self.reads)
            .await?;
        let old =
            |(tenant, newest, bytes): (String, i64, i64)| (tenant.as_str().into(), newest, bytes);
        Ok(rows.into_iter().map(old).collect())
    }

    /// Topics of a namespace, by name.
    pub(in crate::storage) async fn topics(
        &self,
        page: TopicPage<'_>,
    ) -> Result<Vec<ListedTopic>, Error> {
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(TOPIC_LIST)
            .bind(page.tenant.0)
            .bind(text(page.namespace))
            .bind(page.after.map(text))
            .bind(page.limit)
            .fetch_all(&self.reads)
            .await?;
        let listed = |(name, first, last): (String, i64, i64)| ListedTopic {
            name: name.into(),
            first,
            last,
        };
        Ok(rows.into_iter().map(listed).collect())
    }
}
