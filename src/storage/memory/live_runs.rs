//! How many runs there are that have not ended: of each tenant, for its limit, and of all by
//! status, for operators.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

use crate::id::Tenant;
use crate::storage::draft::RunWrite;
use crate::telemetry::measure;

/// How many statuses a run has that has not ended: pending, running, waiting.
const STATUSES: usize = 3;

/// A mutex, not a task: a few additions for each commit that changes runs.
#[derive(Debug)]
pub(in crate::storage) struct LiveRuns(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    by_tenant: HashMap<Tenant, u64>,
    by_status: [u64; STATUSES],
}

impl LiveRuns {
    /// Begins with what is stored, by tenant and status.
    pub(in crate::storage) fn new(stored: Vec<(Tenant, u8, u64)>) -> Self {
        let live = Self(Mutex::default());
        live.replace(stored);
        live
    }

    /// Counts what is stored again: other processes have changed runs.
    pub(in crate::storage) fn replace(&self, stored: Vec<(Tenant, u8, u64)>) {
        let mut counts = Counts::default();
        for (tenant, status, count) in stored {
            *counts.by_tenant.entry(tenant).or_default() += count;
            if let Some(of_status) = counts.by_status.get_mut(usize::from(status)) {
                *of_status += count;
            }
        }
        measure::runs_open(counts.by_status);
        *self.lock() = counts;
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock()
    }

    /// Those of a tenant.
    pub(in crate::storage) fn of(&self, tenant: &Tenant) -> u64 {
        self.lock().by_tenant.get(tenant).copied().unwrap_or(0)
    }

    /// Takes over the runs of a unit that was committed.
    pub(in crate::storage) fn committed(&self, tenant: &Tenant, writes: &[RunWrite]) {
        if writes.is_empty() {
            return;
        }
        let mut counts = self.lock();
        for write in writes {
            let before = write.before.filter(|before| before.is_live);
            let is_live = write.ended.is_none();
            if let Some(before) = before {
                counts.leave(before.status);
            }
            if is_live {
                counts.enter(write.status);
            }
            match (before.is_some(), is_live) {
                (false, true) => *counts.by_tenant.entry(tenant.clone()).or_default() += 1,
                (true, false) => counts.forget(tenant),
                _ => {}
            }
            if write.before.is_none() {
                measure::run_started(write.kind, write.by);
            }
            if !is_live && (before.is_some() || write.before.is_none()) {
                measure::run_finished(write.kind, write.status_name);
            }
            let results = ["completed", "failed"].into_iter();
            for (result, count) in results.zip(write.compensations) {
                measure::compensated(result, count);
            }
        }
        measure::runs_open(counts.by_status);
    }
}

impl Counts {
    fn enter(&mut self, status: u8) {
        if let Some(count) = self.by_status.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    fn leave(&mut self, status: u8) {
        if let Some(count) = self.by_status.get_mut(usize::from(status)) {
            *count = count.saturating_sub(1);
        }
    }

    /// A run of a tenant has ended.
    fn forget(&mut self, tenant: &Tenant) {
        if let Some(count) = self.by_tenant.get_mut(tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_tenant.remove(tenant);
            }
        }
    }
}
