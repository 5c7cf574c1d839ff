//! Tasks of runs, as they are sent (`runs.md` §5).

use std::sync::Arc;

use super::{RunKind, State, start::ITEM};
use crate::compute::tasks::{Dispatch, End, GivenUp, OfRun, TaskKind, TaskSpec};
use crate::dispatch::Tags;
use crate::error::Failure;
use crate::id::Tenant;
use crate::program::{Answer, Payload, Task};
use crate::registry::{Action, ActionDispatch};
use crate::runtime::Runtime;
use crate::storage::StoredRun;

impl Runtime {
    /// Sends the current task to a member that can do it. A task that was sent already stays as
    /// it is. One that cannot be sent is returned, with its end.
    pub(super) async fn send_task(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
    ) -> Result<Option<(Arc<str>, End)>, Failure> {
        if task.purpose.is_some() {
            return self.send_call(tenant, stored, state, task).await;
        }
        if state.kind() == RunKind::Manager {
            self.send_tick(tenant, stored, state, task).await?;
            return Ok(None);
        }
        let namespace = &stored.name.namespace;
        let found = self.action_sent(tenant, namespace, &task.action).await?;
        let (code, message) = if let Some(action) = found {
            let spec = self.spec_of(tenant, stored, state, task, &action).await?;
            let bytes = spec.input.len() as u64;
            let Some(max) = action.max_input_bytes.filter(|max| bytes > *max) else {
                self.hand_out(spec);
                return Ok(None);
            };
            let text = format!(
                "the input has {bytes} bytes; the action \"{}\" takes at most {max}",
                task.action
            );
            ("BAD_REQUEST", text)
        } else {
            // It was deleted by an earlier release after its task was recorded.
            let text = format!("the action \"{}\" is not registered", task.action);
            ("ACTION_NOT_FOUND", text)
        };
        let end = End::of(Answer::Lost {
            code: code.into(),
            message: message.into(),
        });
        Ok(Some((task_id(&state.run.id, task.ordinal), end)))
    }

    /// A task as it is delivered; none if its action is not known, or if this process does it.
    pub(super) async fn task_spec(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
    ) -> Result<Option<TaskSpec>, Failure> {
        if task.purpose.is_some() {
            return self.call_spec(tenant, stored, state, task).await;
        }
        if state.kind() == RunKind::Manager {
            return Ok(None);
        }
        let namespace = &stored.name.namespace;
        let Some(action) = self.action_sent(tenant, namespace, &task.action).await? else {
            return Ok(None);
        };
        let spec = self.spec_of(tenant, stored, state, task, &action).await?;
        Ok(Some(spec))
    }

    /// The action of a task that is out: as it was last, if it has been deleted meanwhile.
    async fn action_sent(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Action>, Failure> {
        let found = self.action_of(tenant, namespace, name).await?;
        if found.is_some() {
            return Ok(found);
        }
        let registry = &self.0.registry;
        Ok(registry.deleted_action(tenant, namespace, name).await?)
    }

    /// The action of that name, whether it is enabled or not. That of an item is there always.
    pub(super) async fn action_of(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Action>, Failure> {
        if let Some(workflow) = name.strip_prefix(ITEM) {
            return Ok(Some(Action::of_item(workflow)));
        }
        let registry = &self.0.registry;
        Ok(registry.action(tenant, namespace, name).await?)
    }

    /// Has this process do a tick.
    async fn send_tick(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
    ) -> Result<(), Failure> {
        let input = match &task.input {
            Payload::Inline(text) => Arc::from(&**text),
            Payload::At(sequence) => self.stored_value(stored.id, *sequence).await?,
        };
        let id = task_id(&state.run.id, task.ordinal);
        self.tick_for_run(tenant, &stored.name.namespace, id, input);
        Ok(())
    }

    /// Does not wait for the outcome of a task any more.
    pub(super) fn give_up_task(&self, tenant: &Tenant, task: &str, reason: &str) -> GivenUp {
        self.0.ticks.give_up(tenant, task);
        self.0.channels.give_up(tenant, task, reason)
    }

    async fn spec_of(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
        action: &Action,
    ) -> Result<TaskSpec, Failure> {
        let input = match &task.input {
            Payload::Inline(text) => Arc::from(&**text),
            Payload::At(sequence) => self.stored_value(stored.id, *sequence).await?,
        };
        let step = state.run.position.as_ref().map_or("", |at| at.name());
        let settings = &self.0.settings.runs;
        Ok(TaskSpec {
            id: task_id(&state.run.id, task.ordinal),
            tenant: tenant.clone(),
            namespace: Arc::clone(&stored.name.namespace),
            kind: kind_of(&task.action),
            name: Arc::clone(&action.name),
            dispatch: match action.dispatch {
                ActionDispatch::Task => Dispatch::Task,
                ActionDispatch::Processor => Dispatch::Processor,
            },
            tags: Tags::parse(&action.tags.join(",")),
            labels: state.labels(),
            priority: state.priority(),
            input,
            run: state.is_listed().then(|| OfRun {
                run: Arc::from(&*state.run.id),
                definition: Arc::clone(&stored.name.name),
                version: Arc::clone(&state.version),
                step: step.into(),
            }),
            context: action.context.clone(),
            idempotency_key: task_id(&state.run.id, task.key),
            principal: state.principal()?,
            timeout: action.timeout(),
            retries_max: action.max_retries,
            retry_delay: action.retry_delay(),
            wait: action.wait().unwrap_or(settings.tasks_wait),
            output_max: usize::try_from(action.max_output_bytes).unwrap_or(usize::MAX),
            // An invocation is its task.
            created: if state.is_listed() {
                self.0.clock.now()
            } else {
                state.run.created
            },
            used: state.used(task.ordinal),
            position: stored.position,
        })
    }
}

/// What kind of task an action is.
pub(super) fn kind_of(action: &str) -> TaskKind {
    if action.starts_with(ITEM) {
        TaskKind::Item
    } else {
        TaskKind::Action
    }
}

/// The identifier of a task.
pub(super) fn task_id(run: &str, ordinal: u64) -> Arc<str> {
    format!("{run}.{ordinal}").into()
}

/// The run and the ordinal that an identifier of a task names.
pub fn parts(task: &str) -> Option<(&str, u64)> {
    let (run, text) = task.rsplit_once('.')?;
    let ordinal: u64 = text.parse().ok()?;
    // Tasks are held by their identifiers, so each has one spelling.
    (ordinal.to_string() == text).then_some((run, ordinal))
}
