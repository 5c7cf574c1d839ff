//! How a saga moves: forward step by step, and back over what has completed (`orchestration.md`
//! 2.4).

use std::{sync::Arc, time::Duration};

use super::{
    arrival::{Answer, Ask, Effect, Problem, Reach, Task},
    form::{Kind, Name, Program},
    history::EventKind,
    machine::{Doing, Ending, Flow, Machine, Output},
    run::{Payload, Position, RunError, Status, StepResult, Then, Waiting},
    saga::{Call, Pause, Purpose, Saga, SagaStep},
    unwinding::{Cause, CompensationError, GivenUp, Phase, SagaState},
};
use crate::expr::{CelError, Read, Values};

/// How long compensation waits for a call that is out when a saga is cancelled or times out.
const CLOSING: Duration = Duration::from_secs(30);

/// The code of a task whose member has left.
const DISCONNECTED: &str = "COMPUTE_MEMBER_DISCONNECTED";

/// How a call of a saga ended: with its result, or with what went wrong.
type Called = Result<Arc<str>, Box<str>>;

impl<'w> Machine<'w> {
    fn form(&self) -> Option<&'w Saga> {
        self.world.program.saga.as_ref()
    }

    fn saga_step(&self, name: &str) -> Option<&'w SagaStep> {
        match &self.world.program.steps.get(name)?.kind {
            Kind::Saga(step) => Some(step),
            Kind::Run { .. } | Kind::Wait(_) => None,
        }
    }

    pub(super) fn saga(&mut self) -> &mut SagaState {
        // A run of a program that is a saga was begun with one.
        let state = || Box::new(SagaState::new(None));
        self.run.saga.get_or_insert_with(state)
    }

    fn phase(&self) -> Option<&Phase> {
        self.run.saga.as_ref().map(|saga| &saga.phase)
    }

    pub(super) fn is_unwinding(&self) -> bool {
        matches!(self.phase(), Some(Phase::Unwinding(_)))
    }

    /// Enters the step at a place of the order; behind the last the saga completes.
    pub(super) fn enter_at(&mut self, at: usize) -> Flow {
        self.saga().at = at;
        if let Some(step) = self.form().and_then(|saga| saga.order.get(at)) {
            return Flow::Go(Doing::Enter(Position::Step(step.clone())));
        }
        self.saga().phase = Phase::Completing;
        if let Some(flow) = self.defers() {
            return flow;
        }
        Flow::Go(Doing::Call(Purpose::OnComplete))
    }

    /// A step begins: it waits, or calls at once.
    pub(super) fn execute_saga(&mut self, step: &SagaStep) -> Flow {
        let name: Name = self.name();
        if let Err(bound) = self.count() {
            return self.unwind_for(Status::Failed, bound);
        }
        match &step.pause {
            Some(Pause::Delay(delay)) => {
                self.push(EventKind::DelayStarted, &name);
                Flow::Park(Waiting::Timer {
                    then: Then::Delay,
                    until: self.world.now.after(*delay),
                })
            }
            Some(Pause::Signal { event, timeout }) => {
                self.push(EventKind::WaitingForSignal, event);
                Flow::Park(Waiting::Signal {
                    kind: event.clone(),
                    until: timeout.map(|timeout| self.world.now.after(timeout)),
                })
            }
            None => Flow::Go(Doing::Call(Purpose::Action(name))),
        }
    }

    /// A delay has passed.
    pub(super) fn delayed(&mut self) -> Flow {
        let name: Name = self.name();
        self.push(EventKind::DelayExpired, &name);
        Flow::Go(Doing::Call(Purpose::Action(name)))
    }

    /// The signal has come that the step waits for.
    pub(super) fn signalled(&mut self, payload: Payload) -> Flow {
        self.saga().signal = Some(payload.clone());
        let name: Name = self.name();
        match self.saga_step(&name) {
            Some(SagaStep { call: Some(_), .. }) => Flow::Go(Doing::Call(Purpose::Action(name))),
            Some(_) | None => self.completed(&name, Output::Kept(payload)),
        }
    }

    /// The signal has not come in time.
    pub(super) fn not_signalled(&mut self, event: &str) -> Flow {
        self.push(EventKind::SignalTimeout, "");
        let message = format!("await step timeout (event: {event})");
        let name: Name = self.name();
        if self.skips_failure(&name) {
            return self.step_failed(&name, &message);
        }
        self.unwind_for(Status::TimedOut, &message)
    }

    fn call_for(&self, purpose: &Purpose) -> Option<&'w Call> {
        match purpose {
            Purpose::Action(step) => self.saga_step(step)?.call.as_ref(),
            Purpose::Undo(step) => self.saga_step(step)?.undo.as_ref(),
            Purpose::OnComplete => self.form()?.on_complete.as_ref(),
            Purpose::OnFailure => self.form()?.on_failure.as_ref(),
        }
    }

    /// Calls a connector, once all values are there that its request reads.
    pub(super) fn call_connector(&mut self, purpose: Purpose) -> Flow {
        let Some(call) = self.call_for(&purpose) else {
            return match purpose {
                Purpose::Action(_) => self.called(purpose, Ok("null".into())),
                // Only what can be undone is.
                Purpose::Undo(_) => Flow::Go(Doing::Unwind),
                Purpose::OnComplete => Flow::Go(Doing::Finish(ending(Status::Completed, ""))),
                Purpose::OnFailure => self.unwound(),
            };
        };
        let missing = self.missing_of(call);
        if !missing.is_empty() {
            return Flow::Ask(
                Ask::Load(missing.clone()),
                Doing::Loading(missing, Box::new(Doing::Call(purpose))),
            );
        }
        match self.request(call, &purpose) {
            Ok(request) => Flow::Ask(
                Ask::Connector(call.connector.clone()),
                Doing::Calling(purpose, request),
            ),
            Err(error) => self.called(purpose, Err(error.to_string().into())),
        }
    }

    fn missing_of(&self, call: &Call) -> Vec<u64> {
        let roots = call.request.roots();
        let run = &self.run;
        let signal = run.saga.as_ref().and_then(|saga| saga.signal.as_ref());
        let input = roots.input.then_some(&run.input);
        let signal = signal.filter(|_| roots.signal);
        let results = roots.steps.iter().filter_map(|step| run.results.get(step));
        let payloads = results.map(|result| &result.output);
        let mut missing: Vec<u64> = payloads
            .chain(input)
            .chain(signal)
            .filter_map(|payload| run.lacks(payload))
            .collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    fn request(&self, call: &Call, purpose: &Purpose) -> Result<Arc<str>, CelError> {
        let run = &self.run;
        let signal = run.saga.as_ref().and_then(|saga| saga.signal.as_ref());
        let error = match self.phase() {
            Some(Phase::Unwinding(cause)) => {
                Some(serde_json::json!({"message": &*cause.message}).to_string())
            }
            Some(Phase::Forward | Phase::Completing) | None => None,
        };
        let values = Values {
            input: run.text(&run.input).unwrap_or("null"),
            signal: signal.and_then(|signal| run.text(signal)),
            steps: &|step| run.text(&run.results.get(step)?.output),
            error: error.as_deref(),
            read: Read::default(),
        };
        match purpose {
            Purpose::Action(_) | Purpose::Undo(_) => call.request.evaluate(&values),
            // What cannot be computed there is null (2.2).
            Purpose::OnComplete | Purpose::OnFailure => {
                Ok(call.request.evaluate_or_null(&values).0)
            }
        }
        .map(Into::into)
    }

    /// The connector was looked up.
    pub(super) fn call_through(&mut self, purpose: Purpose, request: Arc<str>, by: Reach) -> Flow {
        let Some(call) = self.call_for(&purpose) else {
            return Flow::Go(Doing::Call(purpose));
        };
        let connector = &call.connector;
        let awaits = match by {
            Reach::Missing => {
                let message = format!("there is no connector \"{connector}\"");
                return self.called(purpose, Err(message.into()));
            }
            Reach::Here => {
                let connector = connector.clone();
                let ask = Ask::CallConnector { connector, request };
                return Flow::Ask(ask, Doing::CalledConnector(purpose));
            }
            Reach::Member { timeout } => {
                if matches!(purpose, Purpose::Action(_)) {
                    let ordinal = self.run.ordinal + 1;
                    self.push(EventKind::AwaitingAction, connector);
                    if let Some(event) = self.history.last_mut() {
                        event.task = Some(ordinal);
                    }
                }
                Some(timeout)
            }
            Reach::BuiltIn => None,
        };
        self.run.ordinal += 1;
        let task = Task {
            ordinal: self.run.ordinal,
            key: self.run.ordinal,
            action: connector.clone(),
            // It is stored with the run until it is answered: no event has it.
            input: Payload::Inline((&*request).into()),
            purpose: Some(purpose),
        };
        self.effects.push(Effect::Send(task.clone()));
        Flow::Park(Waiting::Task {
            until: self.call_until(&task),
            task,
            timeout: awaits,
            accepted: false,
        })
    }

    /// Until when a call is waited for, if its step says so.
    fn call_until(&self, task: &Task) -> Option<crate::clock::Timestamp> {
        match &task.purpose {
            Some(Purpose::Action(step)) => {
                let timeout = self.saga_step(step)?.timeout?;
                Some(self.world.now.after(timeout))
            }
            Some(Purpose::Undo(_) | Purpose::OnComplete | Purpose::OnFailure) | None => None,
        }
    }

    /// The task of a call was answered.
    pub(super) fn call_answered(&mut self, purpose: Purpose, answer: Answer) -> Flow {
        if let Some(Waiting::Task { task, timeout, .. }) = self.resume()
            && matches!(&purpose, Purpose::Action(step) if self.world.program.can_undo(step))
        {
            let is_with_member = timeout.is_some();
            // It may have been done, so it is asked for once more.
            if may_be_at_work(&answer) {
                self.saga().given_up.push(GivenUp {
                    task,
                    is_with_member,
                    is_out: true,
                });
            }
        }
        let outcome = outcome_of(&answer);
        if let Purpose::Action(step) = &purpose {
            if was_done(&answer) {
                self.keep_for_undo(step);
            }
            let kind = match &answer {
                Answer::Lost { .. } => EventKind::ActionLost,
                Answer::Outcome { .. } | Answer::Deadline => EventKind::ActionCompleted,
            };
            self.push(kind, &outcome);
        }
        self.called(purpose, result_of(answer))
    }

    /// A connector did its work within the turn.
    pub(super) fn called_connector(&mut self, purpose: Purpose, answer: Answer) -> Flow {
        self.run.has_called = true;
        self.saga().deferrals = 0;
        if matches!(purpose, Purpose::Action(_)) {
            self.push(EventKind::ActionCompleted, &outcome_of(&answer));
        }
        self.called(purpose, result_of(answer))
    }

    /// A call has ended.
    fn called(&mut self, purpose: Purpose, called: Called) -> Flow {
        match (purpose, called) {
            (Purpose::Action(step), Ok(output)) => self.completed(&step, Output::Text(output)),
            (Purpose::Action(step), Err(cause)) => self.step_failed(&step, &cause),
            (Purpose::Undo(step), Ok(_)) => {
                self.push(EventKind::CompensationCompleted, &step);
                Flow::Go(Doing::Unwind)
            }
            (Purpose::Undo(step), Err(message)) => {
                self.push(EventKind::CompensationFailed, &step);
                self.record_not_undone(&step, message);
                Flow::Go(Doing::Unwind)
            }
            (Purpose::OnComplete, Ok(_)) => {
                self.push(EventKind::CallbackCompleted, "on_complete");
                if self.is_unwinding() {
                    return Flow::Go(Doing::Unwind);
                }
                Flow::Go(Doing::Finish(ending(Status::Completed, "")))
            }
            (Purpose::OnComplete, Err(cause)) => {
                self.push(EventKind::CallbackFailed, "on_complete");
                if self.is_unwinding() {
                    return Flow::Go(Doing::Unwind);
                }
                let message = format!("on_complete failed: {cause}");
                Flow::Go(Doing::Finish(ending(Status::Failed, &message)))
            }
            (Purpose::OnFailure, called) => {
                let kind = match called {
                    Ok(_) => EventKind::CallbackCompleted,
                    Err(_) => EventKind::CallbackFailed,
                };
                self.push(kind, "on_failure");
                self.saga().has_followed = true;
                // A call may have succeeded too late meanwhile.
                Flow::Go(Doing::Unwind)
            }
        }
    }

    /// A step has done what it does.
    fn completed(&mut self, step: &Name, output: Output) -> Flow {
        self.keep_completed(step, output);
        if self.is_unwinding() {
            return Flow::Go(Doing::Unwind);
        }
        let next = self.saga().at + 1;
        self.enter_at(next)
    }

    fn keep_completed(&mut self, step: &Name, output: Output) {
        let data = match &output {
            Output::Text(text) => Some(Arc::clone(text)),
            Output::Kept(_) => None,
        };
        let sequence = self.push_with(EventKind::StepCompleted, step, data);
        let output = match output {
            Output::Kept(payload) => payload,
            Output::Text(text) => self.run.payload(&text, sequence),
        };
        self.keep_result(step, "success", output);
        self.keep_for_undo(step);
    }

    /// What a step has done is undone if the saga fails.
    fn keep_for_undo(&mut self, step: &Name) {
        if self.world.program.can_undo(step) {
            self.saga().completed.push(step.clone());
        }
    }

    fn keep_result(&mut self, step: &Name, outcome: &str, output: Payload) {
        let result = StepResult {
            outcome: outcome.into(),
            output,
            executions: self.run.visit.executions,
        };
        self.run.results.insert(step.clone(), result);
    }

    fn skips_failure(&self, step: &str) -> bool {
        self.saga_step(step).is_some_and(|form| form.skips_failure)
    }

    fn step_failed(&mut self, step: &Name, cause: &str) -> Flow {
        let skips = self.skips_failure(step);
        let is_unwinding = self.is_unwinding();
        if skips {
            self.push(EventKind::StepSkipped, step);
        } else {
            self.push(EventKind::StepCompleted, step);
        }
        self.keep_result(step, "failure", Payload::Inline("null".into()));
        if is_unwinding {
            return Flow::Go(Doing::Unwind);
        }
        if skips {
            let next = self.saga().at + 1;
            return self.enter_at(next);
        }
        let message = format!("step \"{step}\" failed: {cause}");
        self.unwind_for(Status::Failed, &message)
    }

    /// A call was repeated because nobody knows whether it was done, and still nobody does.
    fn record_unsettled(&mut self, step: &Name, reason: &str) {
        let message = format!("it is not known whether the step was done: {reason}");
        self.record_not_undone(step, message.into());
    }

    fn record_not_undone(&mut self, step: &Name, message: Box<str>) {
        self.effects.push(Effect::Log(Problem::CompensationFailed {
            step: (&**step).into(),
            reason: message.clone(),
        }));
        let step = (&**step).into();
        self.saga().errors.push(CompensationError { step, message });
    }

    /// Compensation begins.
    fn unwind_for(&mut self, status: Status, message: &str) -> Flow {
        self.begin_unwinding(status, message);
        Flow::Go(Doing::Unwind)
    }

    fn begin_unwinding(&mut self, status: Status, message: &str) {
        let saga = self.saga();
        saga.phase = Phase::Unwinding(Cause {
            status,
            message: message.into(),
        });
        saga.has_unwound = true;
    }

    /// Undoes the newest step that has completed; after the last `on_failure` is called, once.
    pub(super) fn unwind(&mut self) -> Flow {
        if let Some(flow) = self.defers() {
            return flow;
        }
        if let Some(step) = self.saga().completed.pop() {
            self.push(EventKind::CompensationStarted, &step);
            return Flow::Go(Doing::Call(Purpose::Undo(step)));
        }
        let is_cancelled = match self.phase() {
            Some(Phase::Unwinding(cause)) => cause.status == Status::Cancelled,
            Some(Phase::Forward | Phase::Completing) | None => false,
        };
        // What was undone after the end has no more to follow.
        if is_cancelled || self.saga().has_followed || self.run.status.is_end() {
            return self.unwound();
        }
        Flow::Go(Doing::Call(Purpose::OnFailure))
    }

    fn unwound(&mut self) -> Flow {
        if self.run.status.is_end() {
            self.run.waiting = None;
            return Flow::Stay;
        }
        let Some(Phase::Unwinding(Cause { status, message })) = self.phase().cloned() else {
            return Flow::Go(Doing::Finish(ending(Status::Completed, "")));
        };
        Flow::Go(Doing::Finish(ending(status, &message)))
    }

    /// A saga is cancelled or has passed its time limit: nothing more is begun, and what is out is
    /// waited for, so that it is undone if it succeeds after all.
    pub(super) fn interrupt(&mut self, status: Status, message: &str) -> Flow {
        if self.is_unwinding() {
            self.taken = false;
            return Flow::Stay;
        }
        self.begin_unwinding(status, message);
        let Some(Waiting::Task {
            task,
            until,
            timeout,
            accepted,
        }) = self.resume()
        else {
            return Flow::Go(Doing::Unwind);
        };
        self.effects.push(Effect::GiveUp {
            ordinal: task.ordinal,
            reason: message.into(),
        });
        let closing = self.world.now.after(CLOSING);
        Flow::Park(Waiting::Task {
            task,
            until: until.into_iter().chain([closing]).min(),
            timeout,
            accepted,
        })
    }

    /// A call is not waited for any longer.
    pub(super) fn abandon(&mut self, task: Task, is_with_member: bool, is_accepted: bool) -> Flow {
        const REASON: &str = "no answer came in time";
        self.effects.push(Effect::GiveUp {
            ordinal: task.ordinal,
            reason: REASON.into(),
        });
        let Some(purpose) = task.purpose.clone() else {
            return Flow::Stay;
        };
        if let Purpose::Action(step) = &purpose {
            self.push(EventKind::ActionCompleted, "timeout");
            // A worker that has accepted it reports its end unasked.
            if self.world.program.can_undo(step) {
                self.saga().given_up.push(GivenUp {
                    task,
                    is_with_member,
                    is_out: !is_accepted,
                });
            }
        }
        self.called(purpose, Err(REASON.into()))
    }

    /// The answer of a call that was given up: a success is undone, also after the end of the run.
    pub(super) fn answered_late(&mut self, ordinal: u64, answer: &Answer) -> Option<Flow> {
        let saga = self.run.saga.as_mut()?;
        let is_it = |call: &GivenUp| call.task.ordinal == ordinal;
        let at = saga.given_up.iter().position(is_it)?;
        if matches!(answer, Answer::Outcome { outcome, .. } if &**outcome == "pending") {
            saga.given_up[at].is_out = false;
            return None;
        }
        // Its member may still answer.
        if saga.given_up[at].is_with_member && matches!(answer, Answer::Deadline) {
            return None;
        }
        let Some(Purpose::Action(step)) = saga.given_up.remove(at).task.purpose else {
            return None;
        };
        let has_ended = self.run.status.is_end() && self.run.waiting.is_none();
        let is_idle = has_ended && self.is_unwinding();
        match result_of(answer.clone()) {
            Ok(output) => self.keep_completed(&step, Output::Text(output)),
            Err(_) if was_done(answer) => {
                self.push(EventKind::StepCompleted, &step);
                self.keep_for_undo(&step);
            }
            Err(reason) => {
                if !matches!(answer, Answer::Outcome { .. }) && !was_not_called(answer) {
                    self.record_unsettled(&step, &reason);
                }
                return None;
            }
        }
        // Otherwise it is undone next.
        Some(if is_idle {
            Flow::Go(Doing::Unwind)
        } else {
            Flow::Stay
        })
    }
}

impl Program {
    /// Whether what a step of a saga has done is undone if the saga fails.
    pub fn can_undo(&self, step: &str) -> bool {
        let step = self.steps.get(step).map(|step| &step.kind);
        matches!(step, Some(Kind::Saga(form)) if form.undo.is_some())
    }
}

fn ending(status: Status, message: &str) -> Ending {
    Ending {
        status,
        detail: message.into(),
        terminal: None,
        error: (status != Status::Completed).then(|| RunError {
            code: None,
            message: message.into(),
        }),
    }
}

/// The code of a call of a system that was sent and has no answer.
pub const ANSWER_LOST: &str = "CONNECTOR_ANSWER_LOST";

/// The code of a call that was given up before anybody was sent it.
pub const NOT_CALLED: &str = "CONNECTOR_NOT_CALLED";

/// The code of a call of a system that was done, and whose answer cannot be stored.
pub const ANSWER_UNUSABLE: &str = "CONNECTOR_ANSWER_UNUSABLE";

/// Whether a member or a system may do a task, or have done it, although no answer of it has come.
pub fn may_be_at_work(answer: &Answer) -> bool {
    match answer {
        Answer::Deadline => true,
        Answer::Lost { code, .. } => [DISCONNECTED, ANSWER_LOST].contains(&&**code),
        Answer::Outcome { .. } => false,
    }
}

/// Whether nobody was sent a task.
fn was_not_called(answer: &Answer) -> bool {
    matches!(answer, Answer::Lost { code, .. } if &**code == NOT_CALLED)
}

/// Whether a system has done a task although there is no result of it.
fn was_done(answer: &Answer) -> bool {
    matches!(answer, Answer::Lost { code, .. } if &**code == ANSWER_UNUSABLE)
}

fn outcome_of(answer: &Answer) -> Box<str> {
    match answer {
        Answer::Outcome { outcome, .. } => outcome.clone(),
        Answer::Deadline => "timeout".into(),
        Answer::Lost { .. } => "execution_failure".into(),
    }
}

/// The result of a call, or why there is none.
fn result_of(answer: Answer) -> Called {
    #[derive(serde::Deserialize)]
    struct Failed {
        error: Box<str>,
    }
    match answer {
        Answer::Outcome { outcome, output } if &*outcome == "success" => Ok(output),
        Answer::Outcome { outcome, output } => {
            let failed = serde_json::from_str::<Failed>(&output);
            Err(failed.map_or_else(
                |_| format!("the outcome was \"{outcome}\"").into(),
                |failed| failed.error,
            ))
        }
        Answer::Deadline => Err("no answer came in time".into()),
        Answer::Lost { message, .. } => Err(message),
    }
}
