//! Storing what a task has used up of its retries and of its time to wait, in the state of its run:
//! after failed deliveries and long waits, not with each delivery (`runs.md` §5.2).

use tracing::warn;

use super::{CONFLICTS_MAX, ReadRun, send::parts};
use crate::compute::tasks::Used;
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::runtime::Runtime;

impl Runtime {
    /// Stores what a task has used up. If that fails it is known to this process only, until it
    /// changes again.
    pub(super) async fn keep_used(&self, tenant: &Tenant, task: &str, used: Used) {
        for _ in 0..=CONFLICTS_MAX {
            match self.try_keep_used(tenant, task, used).await {
                Ok(()) => return,
                Err(failure) if failure.code() == Code::Conflict => {}
                // Nobody waits for it any more.
                Err(failure) if failure.code() == Code::RunNotFound => return,
                Err(failure) => {
                    warn!(%failure, task.id = task, "the attempts of a task could not be stored");
                    return;
                }
            }
        }
        warn!(
            task.id = task,
            "the attempts of a task could not be stored: too many conflicts"
        );
    }

    async fn try_keep_used(&self, tenant: &Tenant, task: &str, used: Used) -> Result<(), Failure> {
        let Some((run, ordinal)) = parts(task) else {
            return Ok(());
        };
        self.storage().refresh().await?;
        let run = self.find_run(tenant, run).await?;
        let ReadRun { stored, state } = self.read_run(tenant, run).await?;
        if !state.out().contains(&ordinal) || !self.storage().drives(&stored) {
            return Ok(());
        }
        // The task may have been elsewhere meanwhile.
        let before = state.used(ordinal);
        if before == used || before.attempt > used.attempt {
            return Ok(());
        }
        let advance = state.with_used(ordinal, used).stored(&[])?;
        let (by, mut session) = self.own_session(tenant);
        session.unit()?.take_run_over(&stored, advance)?;
        session.finish(&by.cancel).await
    }
}
