//! What a batch changes beside entities and runs, as its first commit says it to other processes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::storage::port::{Batch, RecordGone, Upkeep};

/// A record: the row of its tenant, its kind, namespace and name.
pub(super) type RecordName = (i64, i64, Arc<str>, Arc<str>);

/// A topic: the row of its tenant, its namespace and name.
pub(super) type TopicName = (i64, Arc<str>, Arc<str>);

/// What a batch changes beside entities and runs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct News {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) records: Vec<RecordName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) topics: Vec<TopicName>,
    /// Whether clients, keys or providers were changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) identities: bool,
}

impl News {
    /// What a batch says; nothing if there is nothing to say.
    pub(super) fn of(batch: &Batch) -> Option<String> {
        let name = |key: &RecordGone| (key.t, key.kind, Arc::clone(&key.ns), Arc::clone(&key.name));
        let put = batch.records.iter().map(|put| name(&put.key));
        let topics = batch.topics.iter();
        let topics = topics.map(|put| (put.t, Arc::clone(&put.ns), Arc::clone(&put.name)));
        let news = Self {
            records: put.chain(batch.records_gone.iter().map(name)).collect(),
            topics: topics.collect(),
            identities: false,
        };
        news.text()
    }

    /// The same of what is written between two batches.
    pub(super) fn of_upkeep(upkeep: &Upkeep) -> Option<String> {
        let news = Self {
            identities: matches!(upkeep, Upkeep::Identities { .. }),
            ..Self::default()
        };
        news.text()
    }

    fn text(&self) -> Option<String> {
        let is_some = !self.records.is_empty() || !self.topics.is_empty() || self.identities;
        is_some.then(|| serde_json::to_string(self).ok()).flatten()
    }

    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    pub(super) fn add(&mut self, other: Self) {
        self.records.extend(other.records);
        self.topics.extend(other.topics);
        self.identities |= other.identities;
    }
}
