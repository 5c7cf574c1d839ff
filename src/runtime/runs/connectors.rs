//! Calls of sagas: through members, by this process, or in the commit of the run itself
//! (`orchestration.md` 2.3).

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    State,
    advance::Advancing,
    entity_call::EntityCall,
    send::{parts, task_id},
};
use crate::backoff::Backoff;
use crate::compute::tasks::{
    Dispatch, End, GivenUp, NO_MEMBER, OfRun, Reported, TaskKind, TaskSpec,
};
use crate::connector::{Call, CallFailed, Config, Connector};
use crate::dispatch::Tags;
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::{
    ANSWER_LOST, ANSWER_UNUSABLE, Answer, EntityAnswer, NOT_CALLED, Payload, Purpose, Reach, Task,
    Wanted, may_be_at_work,
};
use crate::runtime::{
    Runtime, Session,
    apart::compute,
    incidents::{Held, Verdict},
};
use crate::storage::{StoredRun, Work};

/// How often a call is sent to another member if the one that had it is lost, and the pause
/// before it: the defaults of actions.
const RETRIES_MAX: u32 = 3;
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The pauses before the end of a call is stored again.
const REPORTING: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(30));

/// How often it is looked whether a run that has stopped is tried again.
const STOPPED_PAUSE: Duration = Duration::from_secs(1);

/// The largest result of a call, in bytes.
const OUTPUT_MAX: usize = 1 << 20;

/// A call that this process does.
struct BuiltInCall<'a> {
    request: &'a str,
    key: &'a str,
    given_up: &'a CancellationToken,
    is_repeated: bool,
}

impl Runtime {
    /// The connector that a run knows by a name: as it was when the run started.
    async fn connector_of(
        &self,
        tenant: &Tenant,
        namespace: &str,
        bundle: &str,
        name: &str,
    ) -> Result<Option<Arc<Connector>>, Failure> {
        let registry = &self.0.registry;
        let found = registry.connector(tenant, namespace, bundle, name).await;
        found.map_err(|error| {
            let lacks_key = error.lacks_key();
            let failure = Failure::from(error);
            if !lacks_key {
                return failure;
            }
            let text = format!(
                "the variables of the connector \"{name}\" cannot be decrypted: the service lacks their key"
            );
            failure.reported_as(Code::ConnectorUnavailable, &text)
        })
    }

    /// How a connector is reached.
    pub(super) async fn reach(
        &self,
        advancing: &Advancing<'_>,
        name: &str,
    ) -> Result<Reach, Failure> {
        let Some(saga) = &advancing.program.saga else {
            return Ok(Reach::Missing);
        };
        let (tenant, namespace) = (&advancing.by.tenant, &advancing.name.namespace);
        let connector = self
            .connector_of(tenant, namespace, &saga.bundle, name)
            .await?;
        Ok(
            match connector.as_deref().map(|connector| &connector.config) {
                None => Reach::Missing,
                Some(Config::Entity) => Reach::Here,
                Some(Config::Member | Config::Rest) => Reach::Member {
                    timeout: self.0.settings.runs.tasks_wait,
                },
                Some(Config::Http(_) | Config::Database(_) | Config::Email(_)) => Reach::BuiltIn,
            },
        )
    }

    /// Does the work of the connector `entity`, in the commit of the run.
    pub(super) async fn call_connector(
        &self,
        session: &mut Session,
        advancing: &mut Advancing<'_>,
        request: &str,
    ) -> Result<Answer, Failure> {
        let call = match EntityCall::parse(request) {
            Ok(call) => call,
            Err(message) => return Ok(failed(&message)),
        };
        let wanted = Wanted::default();
        let working = Box::pin(self.work_on(session, advancing, &call, &wanted));
        Ok(match working.await? {
            EntityAnswer::Done { output } | EntityAnswer::Reached { output, .. } => {
                Answer::Outcome {
                    outcome: "success".into(),
                    output: with_id(&output),
                }
            }
            EntityAnswer::NotYet { .. } => failed("nothing is waited for"),
            EntityAnswer::Refused { code, message, .. } => failed(&format!("{code}: {message}")),
        })
    }

    /// Sends the call of a saga: to a member, or to what this process does itself. One that cannot
    /// be sent is returned, with its end.
    pub(super) async fn send_call(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
    ) -> Result<Option<(Arc<str>, End)>, Failure> {
        if state.run.has_given_up(task.ordinal) {
            let program = self.program_of(tenant, &stored.name, &state.digest).await?;
            // Older releases repeated calls that nothing undoes, too.
            let can_undo = |purpose: &Purpose| match purpose {
                Purpose::Action(step) => program.can_undo(step),
                Purpose::Undo(_) | Purpose::OnComplete | Purpose::OnFailure => false,
            };
            if !task.purpose.as_ref().is_some_and(can_undo) {
                let id = task_id(&state.run.id, task.ordinal);
                let answer = Answer::Lost {
                    code: NOT_CALLED.into(),
                    message: "nothing would undo it".into(),
                };
                return Ok(Some((id, End::of(answer))));
            }
        }
        match self.connector_called(tenant, stored, state, task).await? {
            Some(connector) if connector.config.is_built_in() => {
                self.call_built_in(tenant, stored, state, task, connector);
            }
            Some(_) => {
                let spec = self.spec_of_call(tenant, stored, state, task)?;
                self.0.calls.begin(tenant, &spec.id);
                self.hand_out(spec);
            }
            None => {
                let id = task_id(&state.run.id, task.ordinal);
                let answer = Answer::Lost {
                    code: "CONNECTOR_UNAVAILABLE".into(),
                    message: format!("there is no connector \"{}\"", task.action).into(),
                };
                return Ok(Some((id, End::of(answer))));
            }
        }
        Ok(None)
    }

    /// Whether a call was sent since the start of the service and has not ended.
    pub(super) fn is_call_out(&self, tenant: &Tenant, run: &str, task: &Task) -> bool {
        self.0.calls.is_out(tenant, &task_id(run, task.ordinal))
    }

    /// Notes that a run is about to be resumed, whose call may have been sent before.
    pub(super) fn resumes_call(&self, tenant: &Tenant, state: &State) {
        if let Some(task) = state.call_out() {
            let task = task_id(&state.run.id, task.ordinal);
            self.0.calls.resume(tenant, task);
        }
    }

    /// Notes that a run was not resumed here.
    pub(super) fn leaves_call(&self, tenant: &Tenant, state: &State) {
        if let Some(task) = state.call_out() {
            let task = task_id(&state.run.id, task.ordinal);
            self.0.calls.stay_away(tenant, task);
        }
    }

    /// Notes that a call was committed by this process, which sends it.
    pub(super) fn call_issued(&self, tenant: &Tenant, task: Arc<str>) {
        self.0.calls.issue(tenant, task);
    }

    /// What the end of a call means. One that nobody has taken may have been done, if another
    /// process may have sent it, or this one before a restart.
    pub(super) fn end_of_call(&self, tenant: &Tenant, task: &str, end: End) -> End {
        let is_untaken = matches!(&end.answer, Answer::Lost { code, .. } if &**code == NO_MEMBER);
        let is_new = end.attempt == 0 && self.0.calls.was_issued(tenant, &task.into());
        if !is_untaken || is_new {
            return end;
        }
        let message = "the member that had the call is gone, and no other one has taken it";
        End {
            answer: Answer::Lost {
                code: ANSWER_LOST.into(),
                message: message.into(),
            },
            ..end
        }
    }

    /// A call is not waited for any more. If no member has it, none will answer: it was not done
    /// if nobody was ever sent it, and may have been done otherwise.
    pub(super) fn call_given_up(&self, tenant: &Tenant, task: &str, given_up: GivenUp) {
        let task: Arc<str> = task.into();
        let was_issued = self.0.calls.was_issued(tenant, &task);
        if given_up == GivenUp::Elsewhere {
            // One of this process may still wait for a connection. What may have been sent before a
            // restart is sent all the same: only its answer says whether it was done.
            if was_issued {
                self.0.calls.give_up(tenant, &task);
            }
            return;
        }
        if !self.0.calls.is_out(tenant, &task) {
            return;
        }
        let is_new = given_up == GivenUp::Undelivered && was_issued;
        let (runtime, tenant) = (self.clone(), tenant.clone());
        self.0.calls.spawn(async move {
            if !is_new {
                runtime.call_left(&tenant, &task).await;
                return;
            }
            let answer = Answer::Lost {
                code: NOT_CALLED.into(),
                message: "no member has taken the call".into(),
            };
            runtime.report(&tenant, &task, End::of(answer)).await;
        });
    }

    /// The member has left that had a call, or nobody has it, and nobody waits for it: whether it
    /// was done is not known. If its run has given it up, it is repeated; else its run learns it.
    pub(super) async fn call_left(&self, tenant: &Tenant, task: &str) {
        let task: Arc<str> = task.into();
        if !self.0.calls.is_out(tenant, &task) {
            return;
        }
        let Some((run, ordinal)) = parts(&task) else {
            return;
        };
        let read = async {
            let run = self.find_run(tenant, run).await?;
            self.read_run(tenant, run).await
        };
        // It is repeated after a restart.
        let Ok(read) = read.await else {
            return;
        };
        if read.state.run.has_given_up(ordinal) {
            self.call_again(tenant, read.stored.id, &task).await;
            return;
        }
        let answer = Answer::Lost {
            code: ANSWER_LOST.into(),
            message: "no member has the call any more".into(),
        };
        self.report(tenant, &task, End::of(answer)).await;
    }

    /// Has a call sent again that its run has given up: nobody has it any more, and whether it was
    /// done is not known.
    pub(super) async fn call_again(&self, tenant: &Tenant, run: RunId, task: &Arc<str>) {
        if self.0.calls.is_out(tenant, task) {
            self.0.calls.end(tenant, task);
            self.repeat_call(tenant, run).await;
        }
    }

    /// Has the calls sent again that a run has given up and of which no end is known.
    pub(super) async fn repeat_call(&self, tenant: &Tenant, run: RunId) {
        if let Err(error) = self.storage().wake_run(tenant, run).await {
            warn!(%error, run.id = %run, "a call is not repeated before a restart");
        }
    }

    /// The call of a saga as a member is sent it; none if this process does it.
    pub(super) async fn call_spec(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
    ) -> Result<Option<TaskSpec>, Failure> {
        match self.connector_called(tenant, stored, state, task).await? {
            Some(connector) if !connector.config.is_built_in() => {
                self.spec_of_call(tenant, stored, state, task).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    async fn connector_called(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
    ) -> Result<Option<Arc<Connector>>, Failure> {
        let program = self.program_of(tenant, &stored.name, &state.digest).await?;
        let Some(saga) = &program.saga else {
            return Ok(None);
        };
        self.connector_of(tenant, &stored.name.namespace, &saga.bundle, &task.action)
            .await
    }

    fn spec_of_call(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
    ) -> Result<TaskSpec, Failure> {
        let input = match &task.input {
            Payload::Inline(text) => Arc::from(&**text),
            Payload::At(_) => return Err(Failure::internal("a call without its request")),
        };
        let settings = &self.0.settings.runs;
        Ok(TaskSpec {
            id: task_id(&state.run.id, task.ordinal),
            tenant: tenant.clone(),
            namespace: Arc::clone(&stored.name.namespace),
            kind: TaskKind::Connector,
            name: Arc::from(&*task.action),
            dispatch: Dispatch::Task,
            tags: Tags::parse(&format!("connector:{}", task.action)),
            labels: state.labels(),
            priority: state.priority(),
            input,
            run: Some(OfRun {
                run: Arc::from(&*state.run.id),
                definition: Arc::clone(&stored.name.name),
                version: Arc::clone(&state.version),
                step: task.purpose.as_ref().map_or("", step_of).into(),
            }),
            context: None,
            idempotency_key: idempotency_key(&state.run.id, task),
            principal: state.principal()?,
            timeout: settings.connectors_timeout,
            retries_max: RETRIES_MAX,
            retry_delay: RETRY_DELAY,
            wait: settings.tasks_wait,
            output_max: OUTPUT_MAX,
            created: self.0.clock.now(),
            used: state.used(task.ordinal),
            position: stored.position,
        })
    }

    /// Has this process do the call of a saga that is out. What is out already stays as it is.
    pub(super) fn call_built_in(
        &self,
        tenant: &Tenant,
        stored: &StoredRun,
        state: &State,
        task: &Task,
        connector: Arc<Connector>,
    ) {
        let Payload::Inline(request) = &task.input else {
            // A call stands in the state of its run.
            return;
        };
        let id = task_id(&state.run.id, task.ordinal);
        let Some(given_up) = self.0.calls.begin(tenant, &id) else {
            return;
        };
        let key = idempotency_key(&state.run.id, task);
        let (runtime, tenant, request) = (self.clone(), tenant.clone(), request.clone());
        let run = stored.id;
        let is_repeated =
            state.run.has_given_up(task.ordinal) || self.0.calls.was_resumed(&tenant, &id);
        self.0.calls.spawn(async move {
            let called = BuiltInCall {
                request: &request,
                key: &key,
                given_up: &given_up,
                is_repeated,
            };
            let call = runtime.called(&tenant, &connector, called);
            let answer = AssertUnwindSafe(call).catch_unwind().await;
            // A panic is in the log; the call is not one that another attempt would help.
            let answer = answer.unwrap_or_else(|_| Some(failed("an internal error; see the log")));
            if let Some(answer) = answer {
                let is_unknown = may_be_at_work(&answer);
                let reported = runtime.report(&tenant, &id, End::of(answer)).await;
                runtime.0.calls.end(&tenant, &id);
                if reported.is_none() {
                    // The service stops; the call is repeated after the restart, under its key.
                    warn!(task.id = &*id, "the end of a call was not stored");
                }
                // It is sent again if the run wants to know.
                if is_unknown {
                    runtime.repeat_call(&tenant, run).await;
                }
            } else {
                runtime.0.calls.end(&tenant, &id);
            }
        });
    }

    /// Calls a connector; none if the service stops before it answers.
    async fn called(
        &self,
        tenant: &Tenant,
        connector: &Connector,
        called: BuiltInCall<'_>,
    ) -> Option<Answer> {
        let calls = &self.0.calls;
        let call = Call {
            tenant,
            connector,
            request: called.request,
            idempotency_key: called.key,
            is_repeated: called.is_repeated,
            timeout: self.0.settings.runs.tasks_wait,
            cancel: calls.stop(),
            given_up: called.given_up,
            compute: &compute,
        };
        match calls.connectors().call(call).await {
            Ok(output) => Some(Answer::Outcome {
                outcome: "success".into(),
                output,
            }),
            Err(CallFailed::Cancelled) => None,
            Err(failure @ CallFailed::NotSent) => Some(Answer::Lost {
                code: NOT_CALLED.into(),
                message: failure.to_string().into(),
            }),
            Err(CallFailed::TimedOut(_)) => Some(Answer::Deadline),
            // It is known that it was not done, so it is not asked for again.
            Err(failure @ CallFailed::NothingDone(_)) => {
                Some(unsuccessful("timeout", &failure.to_string()))
            }
            Err(CallFailed::Unavailable { message }) => Some(Answer::Lost {
                code: "CONNECTOR_UNAVAILABLE".into(),
                message: message.into(),
            }),
            Err(CallFailed::Lost { message }) => Some(Answer::Lost {
                code: ANSWER_LOST.into(),
                message: message.into(),
            }),
            Err(CallFailed::Unusable { message }) => Some(Answer::Lost {
                code: ANSWER_UNUSABLE.into(),
                message: message.into(),
            }),
            Err(CallFailed::Failed { message, .. }) => Some(failed(&message)),
        }
    }

    /// Reports the end of a task until it is stored; none if the service stops.
    async fn report(&self, tenant: &Tenant, task: &str, end: End) -> Option<Reported> {
        let mut backoff = REPORTING;
        loop {
            let ended = self.task_ended_contained(tenant, task, end.clone()).await;
            let (failure, verdict) = match ended {
                Ok(reported) => return Some(reported),
                Err(failed) => failed,
            };
            match verdict {
                Verdict::Again(rest) => {
                    if failure.code() == Code::StorageUnavailable {
                        // The storage says so itself.
                        debug!(task.id = task, "the end of a call waits for the storage");
                    } else {
                        let failure = failure.in_full();
                        warn!(task.id = task, %failure, "the end of a call could not be stored; retrying");
                    }
                    let sleep = tokio::time::sleep(rest.min(backoff.pause()));
                    self.0.calls.stop().run_until_cancelled(sleep).await?;
                }
                // The end is kept, so that the call is not repeated then.
                Verdict::Stopped => self.until_retried(tenant, task).await?,
            }
        }
    }

    /// Waits until an operator has the run of a task tried again, which has stopped; none if the
    /// service stops or the run was removed.
    async fn until_retried(&self, tenant: &Tenant, task: &str) -> Option<()> {
        let (run, _) = parts(task)?;
        let run = loop {
            match self.find_run(tenant, run).await {
                Ok(run) => break run,
                // It was removed: nobody can have it tried again.
                Err(failure) if failure.code() == Code::RunNotFound => return None,
                // The storage cannot be read now; the end is still kept.
                Err(_) => {
                    let sleep = tokio::time::sleep(STOPPED_PAUSE);
                    self.0.calls.stop().run_until_cancelled(sleep).await?;
                }
            }
        };
        let work = Work::run(run);
        while self.held(tenant, &work) == Held::Stopped {
            let sleep = tokio::time::sleep(STOPPED_PAUSE);
            self.0.calls.stop().run_until_cancelled(sleep).await?;
        }
        Some(())
    }
}

/// The idempotency key of a call: run, step and phase, the same however often it is sent.
pub(super) fn idempotency_key(run: &str, task: &Task) -> Arc<str> {
    match &task.purpose {
        Some(purpose) => format!("{run}:{purpose}").into(),
        None => task_id(run, task.key),
    }
}

/// What a task of a saga belongs to, as tasks show it.
pub(super) fn step_of(purpose: &Purpose) -> &str {
    match purpose {
        Purpose::Action(step) | Purpose::Undo(step) => step,
        Purpose::OnComplete => "on_complete",
        Purpose::OnFailure => "on_failure",
    }
}

fn failed(message: &str) -> Answer {
    unsuccessful("failure", message)
}

fn unsuccessful(outcome: &str, message: &str) -> Answer {
    Answer::Outcome {
        outcome: outcome.into(),
        output: serde_json::json!({"error": message}).to_string().into(),
    }
}

/// The answer of a step on entities, with the entity's identifier as `id`, too.
pub(super) fn with_id(output: &Arc<str>) -> Arc<str> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Of {
        entity_id: Box<str>,
    }
    match (serde_json::from_str::<Of>(output), output.strip_prefix('{')) {
        (Ok(of), Some(rest)) => {
            format!("{{\"id\":{},{rest}", crate::expr::quoted(&of.entity_id)).into()
        }
        _ => Arc::clone(output),
    }
}
