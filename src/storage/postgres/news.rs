//! What a batch changes beside entities and runs, as its first commit says it to other processes.
//!
//! Bytes of tenants are differences, on a row that is inserted anyway. A sum in the row of the tenant
//! would be replaced by each batch, and while a long snapshot is open (a dump, a standby that lags)
//! each replaced row makes finding the newest one slower.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::storage::port::{Batch, RecordGone, Upkeep};

/// A record: the row of its tenant, its kind, namespace and name.
pub(super) type RecordName = (i64, i64, Arc<str>, Arc<str>);

/// A topic: the row of its tenant, its namespace and name.
pub(super) type TopicName = (i64, Arc<str>, Arc<str>);

/// The row of a tenant, a namespace, and a type of events.
type EventType = (i64, Arc<str>, Arc<str>);

/// What a batch changes beside entities and runs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct News {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) records: Vec<RecordName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) topics: Vec<TopicName>,
    /// The types of the events that these topics have got.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) types: BTreeSet<EventType>,
    /// How many bytes more tenants have stored, by their rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) bytes: Vec<(i64, i64)>,
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
            types: types_of(batch),
            bytes: bytes_of(batch.stored.iter().copied()),
            identities: false,
        };
        news.text()
    }

    /// The same of what is written between two batches.
    pub(super) fn of_upkeep(upkeep: &Upkeep) -> Option<String> {
        let news = Self {
            identities: matches!(upkeep, Upkeep::Identities { .. }),
            bytes: bytes_of(upkeep.freed().iter().map(|(t, _, bytes)| (t.0, -bytes))),
            ..Self::default()
        };
        news.text()
    }

    fn text(&self) -> Option<String> {
        let is_some = !self.records.is_empty()
            || !self.topics.is_empty()
            || !self.bytes.is_empty()
            || self.identities;
        is_some.then(|| serde_json::to_string(self).ok()).flatten()
    }

    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Adds those of another commit, but for its bytes, which are its own.
    pub(super) fn add(&mut self, other: Self) {
        self.records.extend(other.records);
        self.topics.extend(other.topics);
        self.types.extend(other.types);
        self.identities |= other.identities;
    }
}

/// The types of the events that a batch adds to topics.
fn types_of(batch: &Batch) -> BTreeSet<EventType> {
    let topics: HashMap<_, _> = batch.topics.iter().map(|put| (put.o, put)).collect();
    let events = batch.topic_events.iter();
    let types = events.filter_map(|event| {
        let (put, kind) = (topics.get(&event.o)?, event.kind.as_ref()?);
        Some((put.t, Arc::clone(&put.ns), Arc::clone(kind)))
    });
    types.collect()
}

/// The tenants that have more or less than before.
fn bytes_of(stored: impl Iterator<Item = (i64, i64)>) -> Vec<(i64, i64)> {
    stored.filter(|(_, bytes)| *bytes != 0).collect()
}
