//! Executes due tasks: timers, partially committed runs, and runs of step workflows that are due
//! (`workflow-engine.md` §6.4 and §9.4).

mod resume;
mod timer;

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use super::{
    Runtime,
    incidents::{Fault, Held, Verdict, contained, lasting},
    turns::{Room, TaskInFlight, Turns},
};
use crate::error::{Code, Failure};
use crate::storage::{Due, NextTask, Subject, Task, TaskKind};

/// How many tasks are executed at once.
const AT_ONCE: usize = 256;

/// How many tasks are read at once, even if fewer slots are free: a read for each finished task
/// would cost more than the task.
const READ_AT_ONCE: usize = AT_ONCE / 2;

/// How many tasks of one tenant may be in flight, including those that wait for members. It is at
/// most half of the calls that the tenant may have in flight; the rest is reserved for requests.
const IN_FLIGHT_MAX: usize = 1_000;

/// The pause after a conflict, which means that the entity has just moved.
const AFTER_CONFLICT: Duration = Duration::from_millis(50);

/// The smallest interval at which tasks of other processes are looked for.
const SCAN_MIN: Duration = Duration::from_millis(10);

/// The pause after tasks could not be read.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// The pause between looks whether writes are taken again.
const WHILE_REFUSED: Duration = Duration::from_millis(100);

/// The result of executing a task.
pub(super) enum Done {
    /// The task was removed.
    Yes,
    /// The task is retried after that time.
    Again(Duration),
}

/// The result of looking for due tasks.
enum Ahead {
    /// There may be more work now.
    More,
    /// There is no work for that time; none if no task exists.
    Nothing(Option<Duration>),
}

impl Runtime {
    /// Executes due tasks until `stop` is cancelled.
    pub async fn look_after_tasks(self, tasks: TaskTracker, stop: CancellationToken) {
        let each_max = IN_FLIGHT_MAX.min(self.0.settings.calls.out_max.div_ceil(2));
        let turns = Turns::new(AT_ONCE, each_max);
        tasks.spawn({
            let (runtime, stop) = (self.clone(), stop.clone());
            async move {
                stop.run_until_cancelled(lasting(|| runtime.resume_runs()))
                    .await
            }
        });
        tasks.spawn({
            let (runtime, stop) = (self.clone(), stop.clone());
            async move {
                stop.run_until_cancelled(lasting(|| runtime.retry_runs()))
                    .await
            }
        });
        if self.storage().is_shared() {
            let (runtime, stop) = (self.clone(), stop.clone());
            tasks.spawn(async move {
                let finding = lasting(|| runtime.find_tasks());
                stop.run_until_cancelled(finding).await
            });
        }
        while !stop.is_cancelled() {
            let woken = self.storage().woken_runs();
            for (tenant, note) in self.storage().task_notes() {
                self.take_note(&tenant, note);
            }
            turns.admit(woken.into_iter().map(Due::of_run).collect());
            let waits = if self.storage().check_takes_writes().is_ok() {
                while let Some((due, slot)) = turns.begin() {
                    tasks.spawn(self.clone().look_after_one(due, slot));
                }
                match turns.room() {
                    Some(room) => match self.look_ahead(&turns, &room, &tasks).await {
                        Ahead::More => continue,
                        Ahead::Nothing(waits) => waits,
                    },
                    None => None,
                }
            } else {
                // Every task ends with a commit, and members are not called for one that is refused.
                Some(WHILE_REFUSED)
            };
            let pause = async {
                match waits {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = pause => {}
                () = self.storage().tasks_changed() => {}
                () = self.storage().runs_woken() => {}
                () = turns.changed() => {}
                () = stop.cancelled() => {}
            }
        }
        turns.close();
    }

    /// Admits known due tasks, and starts reading more of the table.
    async fn look_ahead(&self, turns: &Turns, room: &Room, tasks: &TaskTracker) -> Ahead {
        let storage = self.storage();
        let limit = room.free.max(READ_AT_ONCE);
        match storage.next_task(limit, &room.paused) {
            NextTask::Due(due) => match storage.due(&due).await {
                Ok(due) => turns.admit(due),
                Err(error) => {
                    warn!(%error, "due tasks could not be read; retrying");
                    for task in due {
                        storage.postpone(task, AFTER_TROUBLE);
                    }
                }
            },
            // Known tasks are executed meanwhile.
            NextTask::Read(page) => {
                let storage = storage.clone();
                tasks.spawn(async move {
                    if let Err(error) = storage.read_tasks(page).await {
                        warn!(%error, "tasks could not be read; retrying");
                    }
                });
            }
            NextTask::Wait(pause) => return Ahead::Nothing(Some(pause)),
            NextTask::Nothing => return Ahead::Nothing(None),
        }
        Ahead::More
    }

    async fn look_after_one(self, due: Due, slot: TaskInFlight) {
        let task = due.task.clone();
        match self.held(&task.tenant, &Self::work_of(&task)) {
            Held::No => {}
            Held::For(pause) => return self.again(&task, pause),
            // An operator has it done again.
            Held::Stopped => return,
        }
        let pause = match contained(Box::pin(self.look_after(due, slot))).await {
            Ok(Done::Yes) => return,
            Ok(Done::Again(pause)) => pause,
            Err(Fault::Failed(failure)) if failure.code() == Code::Conflict => AFTER_CONFLICT,
            Err(fault) => match self.task_failed(&task, fault).await {
                Verdict::Again(pause) => pause,
                Verdict::Stopped => return,
            },
        };
        self.again(&task, pause);
    }

    async fn look_after(&self, due: Due, slot: TaskInFlight) -> Result<Done, Failure> {
        match (due.task.subject, due.task.kind) {
            (Subject::Run(run), _) => self.look_at_run(&due.task, run, slot).await,
            (Subject::Entity(entity), TaskKind::Continuation) => {
                self.resume(due.task, entity, slot).await
            }
            (Subject::Entity(entity), _) => self.fire(due, entity, slot).await,
        }
    }

    /// Has a task looked at again after a pause.
    fn again(&self, task: &Task, pause: Duration) {
        match task.subject {
            Subject::Run(run) if !task.is_stored() => {
                self.0.retries.put(&task.tenant, run, pause);
            }
            Subject::Run(_) | Subject::Entity(_) => self.storage().postpone(task.handle(), pause),
        }
    }

    /// Finds tasks that other processes wrote, and those of processes that are gone.
    async fn find_tasks(&self) {
        let interval = self.0.settings.scan_interval.max(SCAN_MIN);
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.storage().find_tasks(interval).await {
                warn!(%error, "could not look for tasks of other processes; retrying");
            }
        }
    }

    /// Has runs looked at again whose pause is over.
    async fn retry_runs(&self) {
        loop {
            for (tenant, run) in self.0.retries.due().await {
                if let Err(error) = self.storage().wake_run(&tenant, run).await {
                    warn!(%error, run.id = %run, "a run could not be looked at again; retrying");
                    self.0.retries.put(&tenant, run, AFTER_TROUBLE);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
