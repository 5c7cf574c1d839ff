//! Looking at runs: what is to be done for one, after a commit, at its time, and after a restart.

use tokio_util::sync::CancellationToken;

use super::{ReadRun, State};
use crate::clock::Timestamp;
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
        // What the agenda handed out is due, also if the clock was set back meanwhile.
        let has_come = |at: Timestamp| at <= now || (task.is_stored() && at == task.due);
        let due = state.run.due().filter(|due| has_come(*due));
        let arrival = match (state.run.status, due, &state.run.waiting) {
            (Status::Pending, ..) if state.not_before().is_some_and(|at| !has_come(at)) => None,
            (Status::Pending, ..) => Some(Arrival::Start),
            (_, Some(at), _) => {
                measure::run_timer_late(now.since(at));
                Some(Arrival::Due { at })
            }
            (_, None, Some(Waiting::Entity { .. })) => Some(Arrival::EntityMoved),
            // Only a retry by an operator looks at it.
            (_, None, Some(Waiting::Child { run: child })) => {
                self.missed_end(&task.tenant, child).await?
            }
            (_, None, _) => None,
        };
        if let Some(arrival) = arrival {
            let arrived = self.arrive(&task.tenant, read, arrival, 0).await?;
            return Ok(self.postponed_unless(arrived.is_taken, task));
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
        Ok(self.postponed_unless(false, task))
    }

    /// A timer that was handed out and changed nothing is looked at again, as long as it is stored:
    /// the agenda has forgotten it.
    fn postponed_unless(&self, is_done: bool, task: &Task) -> Done {
        if is_done || !task.is_stored() {
            Done::Yes
        } else {
            Done::Again(self.0.settings.task_pause)
        }
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

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use serde_json::{json, value::to_raw_value};
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::clock::ManualClock;
    use crate::program::StartedBy;
    use crate::registry::NewDefinition;
    use crate::runtime::{
        RunSettings, Session,
        fire::tests::runtime_with,
        runs::{Invoked, StartRun},
    };
    use crate::storage::RunName;

    const NAMESPACE: &str = "default";

    async fn define(runtime: &Runtime, by: &Initiator, document: &serde_json::Value) {
        let sent = to_raw_value(document).expect("JSON");
        let (new, findings) = NewDefinition::read(NAMESPACE, &sent);
        let new = new.unwrap_or_else(|| panic!("{findings}"));
        let mut session: Session = runtime.session(by, None).await.expect("a session");
        let unit = session.unit().expect("a unit");
        let now = runtime.storage().now();
        new.create(unit, NAMESPACE, now).await.expect("creates");
        session.finish(&by.cancel).await.expect("commits");
    }

    async fn start(runtime: &Runtime, by: &Initiator, start: StartRun) -> RunId {
        let mut session: Session = runtime.session(by, None).await.expect("a session");
        let started = runtime.start_run(&mut session, by, start).await;
        session.finish(&by.cancel).await.expect("commits");
        started.expect("starts").run
    }

    fn of(name: &str) -> StartRun {
        let name = RunName {
            namespace: NAMESPACE.into(),
            name: name.into(),
        };
        StartRun::new(name, "{}".into(), StartedBy::Caller)
    }

    async fn status(runtime: &Runtime, by: &Initiator, run: RunId) -> Status {
        let read = runtime.read_run(&by.tenant, run).await.expect("reads");
        read.state.run.status
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_delays_no_time_of_a_run() {
        let clock = ManualClock::default();
        clock.advance_ms(86_400_000);
        let runtime = runtime_with(&clock, RunSettings::DEFAULT).await;
        let by = Initiator {
            tenant: "t".into(),
            principal: system(),
            cancel: CancellationToken::new(),
        };
        let waits = json!({"kind": "Workflow", "name": "waits", "version": "1",
            "start": {"waitForSignal": {"type": "go", "timeoutMs": 1000, "onTimeout": "flo.Failed"},
                "transitions": {"success": "flo.Completed"}}});
        define(&runtime, &by, &waits).await;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let looking = runtime
            .clone()
            .look_after_tasks(tasks.clone(), stop.clone());
        tasks.spawn(looking);
        let limited = start(&runtime, &by, of("waits")).await;
        let becomes = async |run, is_there: fn(Status) -> bool| {
            let becoming = async {
                while !is_there(status(&runtime, &by, run).await) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let become_so = tokio::time::timeout(Duration::from_secs(30), becoming).await;
            become_so.expect("in time");
        };
        becomes(limited, |status| status == Status::Waiting).await;
        let later = runtime.0.clock.now().after(Duration::from_secs(1));
        let delayed = StartRun {
            invoked: Some(Invoked {
                priority: 1,
                labels: BTreeMap::new(),
                not_before: Some(later.micros()),
            }),
            ..of("@action/a")
        };
        let delayed = start(&runtime, &by, delayed).await;
        clock.step_ms(-3_600_000);
        clock.advance_ms(1_000);
        becomes(limited, Status::is_end).await;
        becomes(delayed, |status| status != Status::Pending).await;
        stop.cancel();
        tasks.close();
        tasks.wait().await;
    }
}
