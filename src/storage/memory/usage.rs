//! How much each tenant has stored, roughly: its documents with their history, decision records,
//! messages, records, topics and runs, in bytes.
//!
//! It is counted only where a limit asks for it. What was there at the start is counted in the
//! background, part by part, and what is committed from then on is added: by the committer, and by
//! the pulse what other processes have committed. So it is the same at all of them, it costs no
//! statement of its own, and for a moment after the start it is too low. Indexes, models and what is
//! remembered for idempotency keys come on top and are not counted.

use std::{collections::HashMap, sync::OnceLock};

use parking_lot::{Mutex, MutexGuard};

use crate::id::Tenant;
use crate::storage::draft::Draft;

/// Bytes by tenant; nothing where they are not counted.
///
/// A mutex, not a task: one addition for each commit, and one look-up for each write.
#[derive(Debug, Default)]
pub(in crate::storage) struct Usage(OnceLock<Mutex<HashMap<Tenant, i64>>>);

impl Usage {
    pub(in crate::storage) fn is_counted(&self) -> bool {
        self.0.get().is_some()
    }

    /// Counts from here on.
    pub(in crate::storage) fn begin(&self) {
        self.0.get_or_init(Mutex::default);
    }

    /// What a tenant has.
    pub(in crate::storage) fn of(&self, tenant: &Tenant) -> u64 {
        let bytes = self.lock();
        let bytes = bytes.and_then(|bytes| bytes.get(tenant).copied());
        u64::try_from(bytes.unwrap_or(0)).unwrap_or(0)
    }

    fn lock(&self) -> Option<MutexGuard<'_, HashMap<Tenant, i64>>> {
        let bytes = self.0.get()?;
        Some(bytes.lock())
    }

    pub(in crate::storage) fn add(&self, tenant: &Tenant, more: i64) {
        let Some(mut bytes) = self.lock() else {
            return;
        };
        match bytes.get_mut(tenant) {
            Some(sum) => *sum = sum.saturating_add(more),
            None => {
                bytes.insert(tenant.clone(), more);
            }
        }
    }

    /// What a unit has stored, and taken away, is there.
    pub(in crate::storage) fn committed(&self, draft: &Draft) {
        if self.is_counted() {
            self.add(&draft.tenant, draft.stored_bytes());
        }
    }
}
