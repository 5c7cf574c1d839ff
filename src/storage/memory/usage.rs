//! How much each tenant has stored, roughly: its documents with their history, decision records,
//! messages, records, topics and runs, in bytes.
//!
//! It is counted only where a limit asks for it. What was there at the start is counted in the
//! background: first, as of one commit, all that may be rewritten or removed, and then the rest, part
//! by part. What is committed after that commit is added: by the committer, and by the pulse what
//! other processes have committed. So it is the same at all of them, it costs no statement of its
//! own, and for a moment after the start it is too low. Indexes, models and what is remembered for
//! idempotency keys come on top and are not counted.

use std::{collections::HashMap, sync::OnceLock};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::entity::Sequence;
use crate::id::Tenant;
use crate::storage::draft::Draft;

/// Bytes by tenant; nothing where they are not counted.
///
/// A mutex, not a task: one addition for each commit, and one look-up for each write.
#[derive(Debug, Default)]
pub(in crate::storage) struct Usage {
    counts: OnceLock<Mutex<Counts>>,
    /// Cancelled once everything is counted.
    counted: CancellationToken,
}

#[derive(Debug, Default)]
struct Counts {
    bytes: HashMap<Tenant, i64>,
    /// What was there is counted as of this commit; none before that.
    as_of: Option<Sequence>,
    /// What was committed since the start, until it is known which of that is counted.
    unsettled: Vec<(Sequence, Tenant, i64)>,
}

impl Counts {
    fn add(&mut self, tenant: &Tenant, more: i64) {
        match self.bytes.get_mut(tenant) {
            Some(sum) => *sum = sum.saturating_add(more),
            None => {
                self.bytes.insert(tenant.clone(), more);
            }
        }
    }
}

impl Usage {
    pub(in crate::storage) fn is_counted(&self) -> bool {
        self.counts.get().is_some()
    }

    /// Counts from here on.
    pub(in crate::storage) fn begin(&self) {
        self.counts.get_or_init(Mutex::default);
    }

    /// What a tenant has.
    pub(in crate::storage) fn of(&self, tenant: &Tenant) -> u64 {
        let counts = self.lock();
        let bytes = counts.and_then(|counts| counts.bytes.get(tenant).copied());
        u64::try_from(bytes.unwrap_or(0)).unwrap_or(0)
    }

    fn lock(&self) -> Option<MutexGuard<'_, Counts>> {
        let counts = self.counts.get()?;
        Some(counts.lock())
    }

    /// Adds what was there before, or is changed by no commit.
    pub(in crate::storage) fn add(&self, tenant: &Tenant, more: i64) {
        if let Some(mut counts) = self.lock() {
            counts.add(tenant, more);
        }
    }

    /// Adds what a commit has stored, and taken away.
    pub(in crate::storage) fn add_at(&self, commit: Sequence, tenant: &Tenant, more: i64) {
        let Some(mut counts) = self.lock() else {
            return;
        };
        match counts.as_of {
            Some(as_of) if commit <= as_of => return,
            Some(_) => {}
            None => counts.unsettled.push((commit, tenant.clone(), more)),
        }
        counts.add(tenant, more);
    }

    /// Adds what was counted as of a commit, in place of what is known up to it.
    pub(in crate::storage) fn counted_as_of(&self, as_of: Sequence, counted: &[(Tenant, i64)]) {
        let Some(mut counts) = self.lock() else {
            return;
        };
        counts.as_of = Some(as_of);
        for (commit, tenant, more) in std::mem::take(&mut counts.unsettled) {
            if commit <= as_of {
                counts.add(&tenant, -more);
            }
        }
        for (tenant, bytes) in counted {
            counts.add(tenant, *bytes);
        }
    }

    /// What was there before is counted.
    pub(in crate::storage) fn has_counted(&self) {
        self.counted.cancel();
    }

    /// Returns once what was there before is counted, if it is: what is removed earlier would be
    /// subtracted from nothing.
    pub(in crate::storage) async fn counted(&self) {
        if self.is_counted() {
            self.counted.cancelled().await;
        }
    }

    /// What a unit has stored, and taken away, is there.
    pub(in crate::storage) fn committed(&self, draft: &Draft, commit: Sequence) {
        if self.is_counted() {
            self.add_at(commit, &draft.tenant, draft.stored_bytes());
        }
    }
}
