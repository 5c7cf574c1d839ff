//! What a unit relies on of records, and what it does to them.

use std::sync::Arc;

use foldhash::HashMap;

use super::Committed;
use crate::entity::Position;
use crate::id::Tenant;
use crate::storage::port::{Batch, Record, RecordGone, RecordKey, RecordPut, TenantRow};

/// What a unit does to a record.
#[derive(Debug, Clone)]
pub(in crate::storage) struct RecordChange {
    pub(in crate::storage) key: RecordKey,
    /// None of one that is dropped.
    pub(in crate::storage) body: Option<Arc<str>>,
    /// How many bytes more are stored, as far as is known of what was there.
    pub(in crate::storage) growth: i64,
}

/// What a unit has read of records, and changed.
#[derive(Debug, Default)]
pub(in crate::storage) struct Records {
    pub(in crate::storage) reads: HashMap<RecordKey, Seen>,
    /// In the order in which they were made; of one name the last counts.
    pub(in crate::storage) changes: Vec<RecordChange>,
}

/// A record as a unit has read it.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct Seen {
    /// The commit that had written it; none if it was not there.
    pub(in crate::storage) position: Option<Position>,
    pub(in crate::storage) bytes: usize,
}

/// The current positions of records, as far as a batch has read them.
#[derive(Debug, Default)]
pub(in crate::storage) struct RecordView(HashMap<(Tenant, RecordKey), Option<Position>>);

impl RecordView {
    pub(in crate::storage) fn knows(&self, tenant: &Tenant, key: &RecordKey) -> bool {
        self.0.contains_key(&(tenant.clone(), key.clone()))
    }

    pub(in crate::storage) fn know(
        &mut self,
        tenant: &Tenant,
        key: &RecordKey,
        position: Option<Position>,
    ) {
        self.0.insert((tenant.clone(), key.clone()), position);
    }

    /// Whether everything is as a unit has read it.
    pub(in crate::storage) fn holds(&self, tenant: &Tenant, records: &Records) -> bool {
        records.reads.iter().all(|(key, seen)| {
            let current = self.0.get(&(tenant.clone(), key.clone()));
            current.copied().flatten() == seen.position
        })
    }

    /// Notes what a unit changes that has survived.
    pub(in crate::storage) fn change(
        &mut self,
        tenant: &Tenant,
        records: &Records,
        position: Position,
    ) {
        for change in &records.changes {
            let now = change.body.as_ref().map(|_| position);
            self.know(tenant, &change.key, now);
        }
    }
}

impl Records {
    /// What is there of the changes once they are committed.
    pub(in crate::storage) fn committed(
        &self,
        committed: Committed,
    ) -> impl Iterator<Item = (&RecordKey, Option<Record>)> {
        self.changes.iter().map(move |change| {
            let record = change.body.as_ref().map(|body| Record {
                key: change.key.clone(),
                position: Position(committed.sequence.0),
                body: Arc::clone(body),
            });
            (&change.key, record)
        })
    }

    /// How many bytes more are stored once this is committed.
    pub(in crate::storage) fn growth(&self) -> i64 {
        self.changes.iter().map(|change| change.growth).sum()
    }
}

/// Adds the rows of one unit to a batch.
pub(in crate::storage) fn add_record_rows(
    records: &Records,
    tenant: TenantRow,
    committed: Committed,
    batch: &mut Batch,
) {
    for change in &records.changes {
        let key = RecordGone {
            t: tenant.0,
            kind: change.key.kind.code(),
            ns: Arc::clone(&change.key.namespace),
            name: Arc::clone(&change.key.name),
        };
        match &change.body {
            Some(body) => batch.put_record(RecordPut {
                key,
                n: committed.sequence.0,
                body: Arc::clone(body),
            }),
            None => batch.drop_record(key),
        }
    }
}
