//! Work that one of several processes does, and which changes its place when one comes or goes.

use std::time::Duration;

use super::Runtime;
use crate::storage::NodeRow;

/// How often is looked whether processes have come or gone.
const INTERVAL: Duration = Duration::from_millis(500);

impl Runtime {
    /// Returns the processes that share the work, once those are others than `before`; never where
    /// there is one.
    pub(super) async fn nodes_changed(&self, before: &[NodeRow]) -> Vec<NodeRow> {
        if !self.storage().is_shared() {
            return std::future::pending().await;
        }
        loop {
            let now = self.storage().sharing();
            if now != before {
                return now;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
