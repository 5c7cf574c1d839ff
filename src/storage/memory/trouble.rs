//! What is known of work that failed: how often, why, and when it is tried again
//! (`help/design/runs.md` §9.1).
//!
//! Each is a record, so that a restart continues the count. All of them are kept in memory, as there
//! are few: looking for one costs nothing. What ends the work, or lets it move on, removes its record
//! in the same commit.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::clock::Timestamp;
use crate::id::{RunId, Tenant};
use crate::storage::port::{Record, RecordKey, RecordKind, TaskKey};
use crate::telemetry::measure::{self, IncidentKind};

/// Troubles belong to their tenant and to no namespace.
const NAMESPACE: &str = "";

/// Work that the service does by itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// The advances of a run, by its number.
    Run(i64),
    /// A timer or a continuation of an entity, by its key.
    Timer(i64),
    /// A schedule or a trigger, by namespace and name.
    Producer(Arc<str>, Arc<str>),
}

impl Work {
    pub const fn run(run: RunId) -> Self {
        Self::Run(run.number())
    }

    pub const fn timer(key: TaskKey) -> Self {
        Self::Timer(key.0)
    }

    pub fn producer(key: &RecordKey) -> Self {
        Self::Producer(Arc::clone(&key.namespace), Arc::clone(&key.name))
    }

    pub const fn kind(&self) -> IncidentKind {
        match self {
            Self::Run(_) => IncidentKind::Run,
            Self::Timer(_) => IncidentKind::Timer,
            Self::Producer(..) => IncidentKind::Producer,
        }
    }

    /// The identifier of its incident.
    pub fn id(&self) -> Arc<str> {
        let kind = self.kind().as_str();
        match self {
            Self::Run(number) | Self::Timer(number) => format!("{kind}-{number}").into(),
            Self::Producer(namespace, name) => {
                // Names may have characters that paths do not.
                let mut hash = Sha256::new();
                hash.update(namespace.len().to_be_bytes());
                hash.update(&**namespace);
                hash.update(&**name);
                format!("{kind}-{}", hex::encode(&hash.finalize()[..16])).into()
            }
        }
    }
}

/// What is known of work that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    pub work: Work,
    /// How often it has failed, panics included.
    pub tries: u32,
    pub panics: u32,
    /// Why it failed last.
    pub reason: Box<str>,
    /// When it failed first, in microseconds.
    pub since: i64,
    /// When it is tried again, in microseconds; none of an incident, which waits for an operator.
    pub due: Option<i64>,
    /// The run, as callers name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<Box<str>>,
    /// The definition of a run or producer, the transition of a timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
}

impl Trouble {
    /// Whether it waits for an operator.
    pub const fn is_incident(&self) -> bool {
        self.due.is_none()
    }

    pub const fn since(&self) -> Timestamp {
        Timestamp::from_micros(self.since)
    }
}

/// By tenant and identifier.
pub(in crate::storage) type Known = HashMap<Tenant, BTreeMap<Arc<str>, Arc<Trouble>>>;

/// The troubles of all tenants, by the identifiers of their incidents.
///
/// A mutex, not a task: a look-up for work that is due, if there are any troubles at all.
#[derive(Debug, Default)]
pub(in crate::storage) struct Troubles {
    known: Mutex<Known>,
    count: AtomicUsize,
}

impl Troubles {
    /// Begins with what is stored.
    pub(in crate::storage) fn new(stored: Vec<(Tenant, Record)>) -> Self {
        let troubles = Self::default();
        for (tenant, record) in stored {
            troubles.put(&tenant, &record.key, Some(&record));
        }
        troubles
    }

    pub(in crate::storage) fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }

    /// Takes over a record that was committed, or forgets one that was dropped.
    pub(in crate::storage) fn put(
        &self,
        tenant: &Tenant,
        key: &RecordKey,
        record: Option<&Record>,
    ) {
        if key.kind != RecordKind::Trouble {
            return;
        }
        // What cannot be read counts as the first failure again.
        let trouble: Option<Trouble> =
            record.and_then(|record| serde_json::from_str(&record.body).ok());
        let mut known = self.lock();
        let of_tenant = known.entry(tenant.clone()).or_default();
        let is_incident = |trouble: &Arc<Trouble>| trouble.is_incident();
        let added = trouble.map(Arc::new);
        let opened = added.as_ref().filter(|added| is_incident(added)).cloned();
        let before = match added {
            Some(trouble) => of_tenant.insert(Arc::clone(&key.name), trouble),
            None => of_tenant.remove(&key.name),
        };
        if of_tenant.is_empty() {
            known.remove(tenant);
        }
        let count = known.values().map(BTreeMap::len).sum();
        self.count.store(count, Ordering::Release);
        drop(known);
        if let Some(closed) = before.filter(is_incident) {
            measure::incidents_open(closed.work.kind(), -1.0);
        }
        if let Some(opened) = opened {
            measure::incidents_open(opened.work.kind(), 1.0);
        }
    }

    /// The records of all that is known.
    pub(in crate::storage) fn keys(&self) -> Vec<(Tenant, RecordKey)> {
        let known = self.lock();
        let all = known.iter().flat_map(|(tenant, of_tenant)| {
            let key = |id| RecordKey::new(RecordKind::Trouble, NAMESPACE, Arc::clone(id));
            of_tenant.keys().map(move |id| (tenant.clone(), key(id)))
        });
        all.collect()
    }

    /// What is known by the identifier of an incident.
    pub(in crate::storage) fn get(&self, tenant: &Tenant, id: &str) -> Option<Arc<Trouble>> {
        self.lock().get(tenant)?.get(id).cloned()
    }

    /// What is known of work.
    pub(in crate::storage) fn of(&self, tenant: &Tenant, work: &Work) -> Option<Arc<Trouble>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.get(tenant, &work.id())
    }
}

/// The record of what is known of work.
pub(in crate::storage) fn key(work: &Work) -> RecordKey {
    RecordKey::new(RecordKind::Trouble, NAMESPACE, work.id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Position;

    fn trouble(work: Work, due: Option<i64>) -> Trouble {
        Trouble {
            work,
            tries: 3,
            panics: 1,
            reason: "because".into(),
            since: 1,
            due,
            run: None,
            entity: None,
            name: Some("n".into()),
        }
    }

    fn record(trouble: &Trouble) -> Record {
        Record {
            key: key(&trouble.work),
            position: Position(1),
            body: serde_json::to_string(trouble).expect("JSON").into(),
        }
    }

    #[test]
    fn work_is_distinguished_by_its_identifier() {
        let name = |a: &str, b: &str| Work::Producer(a.into(), b.into()).id();
        assert_eq!(&*Work::Run(7).id(), "run-7");
        assert_eq!(&*Work::Timer(7).id(), "timer-7");
        assert_ne!(name("a", "bc"), name("ab", "c"));
        assert!(
            name("a", "b / ü")
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        );
    }

    #[test]
    fn what_is_committed_is_known_and_what_is_dropped_is_forgotten() {
        let tenant: Tenant = "t".into();
        let trying = trouble(Work::Run(1), Some(9));
        let stored = vec![(tenant.clone(), record(&trying))];
        let troubles = Troubles::new(stored);
        assert_eq!(troubles.of(&tenant, &trying.work).as_deref(), Some(&trying));
        assert!(troubles.of(&"u".into(), &trying.work).is_none());
        let stopped = trouble(Work::Run(1), None);
        let record = record(&stopped);
        troubles.put(&tenant, &record.key, Some(&record));
        assert_eq!(
            troubles.of(&tenant, &trying.work).as_deref(),
            Some(&stopped)
        );
        troubles.put(&tenant, &record.key, None);
        assert!(troubles.of(&tenant, &trying.work).is_none());
        assert!(troubles.lock().is_empty());
    }
}
