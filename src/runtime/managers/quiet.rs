//! Managers about which nothing is to be done until something changes: their file, a state file
//! that an item waits for, or the end of what was started.

use std::{fmt, sync::Arc};

use super::tick::Processed;
use crate::dialect::managers::{Filed, ManagerStatus};
use crate::id::Tenant;
use crate::registry::FileVersion;
use crate::storage::Watch;

/// How many bytes are kept of what is known of managers, roughly. Their files are not kept.
const BYTES_MAX: u64 = 48 << 20;

/// How many managers are expected.
const MANAGERS: usize = 4 << 10;

/// What is known of a manager takes beside what it watches, and what a thing takes that it watches.
const MANAGER_BYTES: u64 = 400;
const THING_BYTES: u64 = 64;

/// The longest reason that is kept.
const REASON_MAX: usize = 4 << 10;

/// A manager's file, and whose it is.
type Key = (Tenant, Arc<str>, Arc<str>);

/// What is known of managers, by their files.
pub(super) struct Quiet(quick_cache::sync::Cache<Key, Arc<Known>, Bytes>);

/// A manager as a tick left it that had nothing to write.
#[derive(Debug)]
pub(super) struct Known {
    version: FileVersion,
    status: Filed,
    /// Why its file is not a manager.
    error: Option<String>,
    /// On everything that decides whether there is something to do; none if that was not looked
    /// at.
    watch: Option<Watch>,
}

#[derive(Clone)]
struct Bytes;

impl quick_cache::Weighter<Key, Arc<Known>> for Bytes {
    fn weight(&self, _: &Key, known: &Arc<Known>) -> u64 {
        let things = known.watch.as_ref().map_or(0, Watch::things);
        let reason = known.error.as_ref().map_or(0, String::len);
        MANAGER_BYTES + things as u64 * THING_BYTES + reason as u64
    }
}

impl Quiet {
    /// What is known of a manager whose file has that version, as far as a tick that processes it,
    /// or does not, would find it so again.
    pub(super) fn get(
        &self,
        tenant: &Tenant,
        namespace: &Arc<str>,
        path: &Arc<str>,
        version: &FileVersion,
        processes: bool,
    ) -> Option<Arc<Known>> {
        let key = (tenant.clone(), Arc::clone(namespace), Arc::clone(path));
        let known = self.0.get(&key).filter(|known| known.version == *version)?;
        let is_in_progress = known.status == Some(ManagerStatus::InProgress);
        let is_quiet = known.watch.as_ref().is_some_and(Watch::is_quiet);
        (!processes || !is_in_progress || is_quiet).then_some(known)
    }

    pub(super) fn keep(
        &self,
        tenant: &Tenant,
        namespace: &Arc<str>,
        path: &Arc<str>,
        known: Known,
    ) {
        if known
            .error
            .as_ref()
            .is_none_or(|reason| reason.len() <= REASON_MAX)
        {
            let key = (tenant.clone(), Arc::clone(namespace), Arc::clone(path));
            self.0.insert(key, Arc::new(known));
        }
    }
}

impl Known {
    pub(super) const fn new(
        version: FileVersion,
        status: Filed,
        error: Option<String>,
        watch: Option<Watch>,
    ) -> Self {
        Self {
            version,
            status,
            error,
            watch,
        }
    }

    /// How the manager stands, and what a tick has done with it that processes it.
    pub(super) fn ticked(&self, manager: &str, processes: bool) -> (Filed, Option<Processed>) {
        let is_processed = match self.status {
            Some(status) => status == ManagerStatus::InProgress,
            None => true,
        };
        let outcome = (processes && is_processed).then(|| Processed {
            manager: manager.to_owned(),
            status: self.status,
            changed: false,
            started: Vec::new(),
            error: self.error.clone(),
        });
        (self.status, outcome)
    }
}

impl Default for Quiet {
    fn default() -> Self {
        Self(quick_cache::sync::Cache::with_weighter(
            MANAGERS, BYTES_MAX, Bytes,
        ))
    }
}

impl fmt::Debug for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quiet")
    }
}
