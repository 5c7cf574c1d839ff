//! The rest of a run of which a part is committed.

use std::time::Duration;

use tracing::warn;

use crate::error::Code;
use crate::runtime::{Runtime, promise::free_if_provisional};
use crate::storage::{Attribution, Once, Task};

/// A partially committed run.
///
/// Unless it is dropped explicitly, the task executor resumes it: after a crash, and after a
/// request that was dropped.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) runtime: Runtime,
    pub(super) attribution: Attribution,
    /// None once nothing is left to do.
    pub(super) task: Option<Task>,
    /// The pause before a failed rest is retried; none if it is dropped, because the caller
    /// receives the failure and decides.
    pub(super) pause: Option<Duration>,
    /// Of a request with an idempotency key, which is free again if the rest is dropped.
    pub(super) once: Option<Once>,
}

impl Unfinished {
    pub(super) async fn end(self) {
        match self.pause {
            None => self.abandon().await,
            Some(pause) => self.put_off(pause),
        }
    }

    async fn abandon(mut self) {
        // Dropped meanwhile, it is repeated.
        let Some(task) = &self.task else { return };
        let (by, once) = (self.attribution.clone(), self.once.as_ref());
        let given_up = self.runtime.give_up(task, by.clone(), once);
        if let Err(error) = given_up.await {
            // The task may have gone with its entity.
            if let (Code::Conflict, Some(once)) = (error.code(), once) {
                free_if_provisional(self.runtime.storage(), &task.tenant, by, once).await;
            }
            warn!(%error, task.subject = ?task.subject, "a continuation could not be removed; it will be retried");
        } else {
            self.task = None;
        }
    }

    fn put_off(mut self, pause: Duration) {
        if let Some(task) = self.task.take() {
            self.runtime.storage().postpone(task.handle(), pause);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            let storage = self.runtime.storage();
            storage.postpone(task.handle(), Duration::ZERO);
        }
    }
}
