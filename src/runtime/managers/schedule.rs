//! Ticks on a schedule: of each namespace that has managers (`runs.md` §8).
//!
//! Which namespaces those are is read once, and then followed by what is committed: a namespace
//! without managers costs nothing.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Runtime;
use crate::dialect::managers::MANAGERS;
use crate::id::Tenant;
use crate::registry::Folder;
use crate::runtime::incidents::contained;
use crate::storage::RecordKind;

/// The pause after a failure.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// A namespace, and whose it is.
type Namespace = (Tenant, Arc<str>);

impl Runtime {
    /// Ticks managers at intervals until `stop` is cancelled.
    pub async fn tick_on_schedule(self, interval: Duration, stop: CancellationToken) {
        let ticking = Box::pin(self.keep_ticking(interval));
        stop.run_until_cancelled(ticking).await;
    }

    async fn keep_ticking(&self, interval: Duration) {
        let mut known = self.namespaces_with_managers().await;
        let mut due = Instant::now() + interval;
        loop {
            let is_due = async {
                if known.is_empty() {
                    std::future::pending::<()>().await;
                }
                sleep_until(due).await;
            };
            tokio::select! {
                () = is_due => {
                    for namespace in known.clone() {
                        if !self.tick_namespace(&namespace).await {
                            known.remove(&namespace);
                        }
                    }
                    due = Instant::now() + interval;
                }
                () = self.storage().files_changed() => {
                    let was_empty = known.is_empty();
                    known.extend(self.storage().changed_files());
                    if was_empty {
                        due = Instant::now() + interval;
                    }
                }
            }
        }
    }

    /// Ticks the managers of a namespace; whether it still has any.
    async fn tick_namespace(&self, (tenant, namespace): &Namespace) -> bool {
        let ticking = async {
            let cancel = CancellationToken::new();
            let ticking = self.tick_managers(tenant, namespace, None, &cancel);
            let ticked = ticking.await?;
            let lists = ticked.registry.lists();
            // Nobody says when people add files to a folder.
            let is_folder = self.0.registry.folder(tenant, namespace).is_some();
            Ok(is_folder || lists.map(|(_, names)| names.len()).sum::<usize>() > 0)
        };
        match contained(ticking).await {
            Ok(has_managers) => has_managers,
            Err(fault) => {
                warn!(?fault, tenant = %tenant, namespace = %namespace, "a tick of managers failed; it is repeated at the next interval");
                true
            }
        }
    }

    async fn namespaces_with_managers(&self) -> HashSet<Namespace> {
        // What is committed from now on is noticed.
        self.storage().watch_files(MANAGERS);
        let folder = self.0.registry.any_folder().map(Folder::owner);
        let folder = folder.map(|(tenant, namespace)| (tenant.clone(), Arc::clone(namespace)));
        loop {
            match self.storage().namespaces(RecordKind::File, MANAGERS).await {
                Ok(found) => return found.into_iter().chain(folder).collect(),
                Err(error) => {
                    warn!(%error, "the managers could not be read; retrying");
                    tokio::time::sleep(AFTER_TROUBLE).await;
                }
            }
        }
    }
}
