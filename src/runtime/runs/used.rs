//! Storing what a task has used up of its retries and of its time to wait, in the state of its run:
//! after failed deliveries and long waits, not with each delivery (`runs.md` §5.2).

use tracing::warn;

use super::{ReadRun, send::parts};
use crate::compute::tasks::Used;
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::runtime::Runtime;

impl Runtime {
    /// Stores what a task has used up. If that fails it is known to this process only, until it
    /// changes again.
    pub(super) async fn keep_used(&self, tenant: &Tenant, task: &str, used: Used) {
        let Some((run, ordinal)) = parts(task) else {
            return;
        };
        let mut tries = self.tries(tenant, run);
        loop {
            let turn = tries.begin().await;
            let kept = self.try_keep_used(tenant, run, ordinal, used).await;
            drop(turn);
            match kept {
                Ok(()) => return,
                // Nobody waits for it any more.
                Err(failure) if failure.code() == Code::RunNotFound => return,
                Err(failure) if tries.again_after(&failure).await => {}
                Err(failure) => {
                    warn!(failure = %failure.in_full(), task.id = task, "the attempts of a task could not be stored");
                    return;
                }
            }
        }
    }

    async fn try_keep_used(
        &self,
        tenant: &Tenant,
        run: &str,
        ordinal: u64,
        used: Used,
    ) -> Result<(), Failure> {
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
