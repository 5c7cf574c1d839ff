//! Invocations of actions and their tasks (`runs.md` §5).

mod get;
mod invoke;
mod list;

use crate::event::payload::{AsText, RawJson, invocations::Task, runs::Fault};
use crate::runtime::runs::{ShownTask, TaskStatus};

pub(super) use get::GetTask;
pub(super) use invoke::InvokeAction;
pub(super) use list::ListTasks;

impl From<ShownTask> for Task {
    fn from(task: ShownTask) -> Self {
        let held = task.held;
        let error = match (task.status, &task.output) {
            (TaskStatus::Failed | TaskStatus::TimedOut, Some(output)) => Fault::of(output),
            _ => None,
        };
        Self {
            task_id: task.id.to_string(),
            kind: task.kind.as_str(),
            name: task.name.into(),
            namespace: task.namespace.to_string(),
            status: task.status.as_str(),
            outcome: task.outcome.map(Into::into),
            input: RawJson::trusted(task.input),
            output: task.output.map(RawJson::trusted),
            error,
            attempt: task.attempt,
            run_id: task.run.map(Into::into),
            step: task.step.map(Into::into),
            taken_by: held
                .as_ref()
                .and_then(|held| held.taken_by.as_ref())
                .map(ToString::to_string),
            progress: held
                .as_ref()
                .and_then(|held| held.progress.clone())
                .map(RawJson::trusted),
            lease_until: held.and_then(|held| held.until).map(AsText),
            created_at: AsText(task.created),
            finished_at: task.ended.map(AsText),
        }
    }
}
