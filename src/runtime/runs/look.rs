//! Looking at runs: what is to be done for one, after a commit, at its time, and after a restart.

use tokio_util::sync::CancellationToken;

use super::{ReadRun, State};
use crate::error::Failure;
use crate::id::RunId;
use crate::program::{Arrival, Status, Waiting};
use crate::runtime::{
    Initiator, Runtime,
    fire::{Done, system},
    turns::TaskInFlight,
};
use crate::storage::{Attribution, Task};
use crate::telemetry::measure;

impl Runtime {
    /// Does what a run needs done now: it takes its first step, or its time has come, or a task of
    /// it is to be sent. A timer that is of no use any more is removed.
    pub(in crate::runtime) async fn look_at_run(
        &self,
        task: &Task,
        run: RunId,
        _slot: TaskInFlight,
    ) -> Result<Done, Failure> {
        self.storage().refresh().await?;
        let Some(stored) = self.storage().run(&task.tenant, run).await? else {
            return self.drop_timer(task).await;
        };
        let read = self.read_of(stored)?;
        let ReadRun { stored, state } = &read;
        let now = self.0.clock.now();
        let arrival = match (state.run.status, &state.run.waiting) {
            (Status::Pending, _) if state.not_before().is_some_and(|at| at > now) => None,
            (Status::Pending, _) => Some(Arrival::Start),
            _ if state.run.due().is_some_and(|due| due <= now) => Some(Arrival::Due),
            (_, Some(Waiting::Entity { .. })) => Some(Arrival::EntityMoved),
            _ => None,
        };
        if let (Some(Arrival::Due), Some(due)) = (&arrival, state.run.due()) {
            measure::run_timer_late(now.since(due));
        }
        if let Some(arrival) = arrival {
            self.arrive(&task.tenant, read, arrival, 0).await?;
            return Ok(Done::Yes);
        }
        if self.storage().is_shared() && !self.storage().drives(stored) {
            self.leave_tasks(&task.tenant, &read);
            return self.keep_timer(task, state).await;
        }
        for out in state
            .run
            .outstanding()
            .into_iter()
            .chain(state.run.given_up())
        {
            let is_given_up = state.run.has_given_up(out.ordinal);
            if is_given_up && self.is_call_out(&task.tenant, &state.run.id, out) {
                continue;
            }
            self.send_task(&task.tenant, stored, state, out).await?;
        }
        self.keep_timer(task, state).await
    }

    /// Removes a timer that is of no use any more.
    async fn keep_timer(&self, task: &Task, state: &State) -> Result<Done, Failure> {
        let is_held_back = state.run.status == Status::Pending;
        if task.is_stored() && state.run.due().is_none() && !is_held_back {
            return self.drop_timer(task).await;
        }
        Ok(Done::Yes)
    }

    async fn drop_timer(&self, task: &Task) -> Result<Done, Failure> {
        if task.is_stored() {
            let attribution = Attribution {
                author: system().actor,
                executor: None,
            };
            let by = Initiator {
                tenant: task.tenant.clone(),
                principal: system(),
                cancel: CancellationToken::new(),
            };
            let mut session = self.session_for(&by, attribution);
            session.unit()?.drop_task(task);
            session.finish(&by.cancel).await?;
        }
        Ok(Done::Yes)
    }
}
