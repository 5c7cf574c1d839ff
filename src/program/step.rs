//! Steps: execution, repetition, and what follows (`orchestration.md` 1.4, 1.6, 1.8, 1.13).

use std::sync::Arc;

use super::{
    advance::{is_of_an_action, matched},
    arrival::{Answer, Ask, Availability, Effect, Problem, StartedChild, Task},
    form::{Kind, Name, START_IN_PATHS, Step, TICK, Target, Wait},
    history::EventKind,
    input::{Input, Prepared, cache_key},
    machine::{By, Doing, Ended, Ending, Flow, Machine, Output},
    reason::reason_of,
    run::{Payload, Position, Run, RunError, Status, StepResult, Then, Visit, Waiting},
};
use crate::clock::Timestamp;

impl Machine<'_> {
    pub(super) fn enter(&mut self, position: Position) -> Flow {
        self.run.visit = Visit::default();
        self.run.key = None;
        self.run.position = Some(position);
        self.run.has_entered = true;
        let name = self.name();
        self.push(EventKind::StepStarted, &name);
        Flow::Go(Doing::Execute)
    }

    pub(super) fn execute(&mut self) -> Flow {
        let Some(step) = self.step() else {
            return fail("the step is not in the program");
        };
        let waits = matches!(step.kind, Kind::Wait(_));
        if self.run.has_entered && !waits && self.stands_apart() {
            return Flow::PutOff(Then::Poll);
        }
        let (target, mapping) = match &step.kind {
            Kind::Wait(wait) => return self.wait(wait),
            Kind::Saga(step) => return self.execute_saga(step),
            Kind::Run { target, input, .. } => (target, input),
        };
        let input = match mapping {
            None => Input::Whole,
            Some(mapping) => match self.mapped(mapping, false) {
                Ok(Prepared::Ready(text)) => Input::Mapped(text.into()),
                Ok(Prepared::Load(events)) => return load(events, Doing::Execute),
                Err(error) => {
                    if let Err(bound) = self.count() {
                        return fail(bound);
                    }
                    let message = error.to_string();
                    let ended = Ended::by_engine("execution_failure", "BAD_REQUEST", &message);
                    return Flow::Go(Doing::Ended(ended));
                }
            },
        };
        if self.needs_text(target, &input)
            && let Some(event) = self.run.lacks(&self.run.input)
        {
            return load(vec![event], Doing::Execute);
        }
        if let Err(bound) = self.count() {
            return fail(bound);
        }
        self.call(target, input)
    }

    /// Whether the text of the run's input has to be there.
    fn needs_text(&self, target: &Target, input: &Input) -> bool {
        match target {
            Target::Action(_) | Target::Tick => false,
            Target::Child(_) | Target::Entity(_) => matches!(input, Input::Whole),
            Target::Plan(name) => {
                let plan = self.world.program.plans.get(name);
                plan.is_some_and(|plan| plan.cache.is_some())
            }
        }
    }

    fn call(&mut self, target: &Target, input: Input) -> Flow {
        match target {
            Target::Action(name) => {
                Flow::Ask(Ask::Action(name.clone()), Doing::CallingAction(input))
            }
            Target::Plan(name) => {
                let Some(plan) = self.world.program.plans.get(name) else {
                    self.push(EventKind::PlanNotFound, name);
                    let message = format!("there is no plan \"{name}\"");
                    return ended_by_engine("target_not_found", "PLAN_NOT_FOUND", &message);
                };
                let key = plan.cache.as_ref().and_then(|cache| {
                    let run = self.run.text(&self.run.input).unwrap_or("null");
                    cache_key(&cache.key, &self.input_text(&input), run, &self.run.budget)
                });
                let ask = Ask::Order {
                    plan: name.clone(),
                    cache_key: key.clone(),
                };
                Flow::Ask(ask, Doing::Ordering(name.clone(), input, key))
            }
            Target::Child(reference) => {
                let max = self.world.limits.depth_max;
                if self.run.depth >= max {
                    let message = format!("the child would have more than {max} parents above it");
                    return ended_by_engine("execution_failure", "WORKFLOW_FAILED", &message);
                }
                let ask = Ask::Child {
                    reference: reference.clone(),
                    input: self.input_text(&input),
                };
                Flow::Ask(ask, Doing::StartingChild(reference.clone()))
            }
            Target::Entity(step) => self.call_entity(*step, &self.input_text(&input)),
            Target::Tick => self.park_task(&TICK.into(), self.run.input.clone(), None),
        }
    }

    pub(super) fn call_action(&mut self, input: Input, found: Availability) -> Flow {
        let Some(Step {
            kind:
                Kind::Run {
                    target: Target::Action(name),
                    ..
                },
            ..
        }) = self.step()
        else {
            return fail("the step is not in the program");
        };
        if found == Availability::Here {
            return self.call_here(
                name,
                match input {
                    Input::Whole => None,
                    Input::Mapped(text) => Some(SentInput::New(text)),
                },
            );
        }
        match self.available(name, found) {
            Err(ended) => Flow::Go(Doing::Ended(ended)),
            Ok(timeout) => match input {
                Input::Whole => self.send(name, None, timeout),
                Input::Mapped(text) => self.send(name, Some(SentInput::New(text)), timeout),
            },
        }
    }

    /// How long the outcome of an action is waited for once it answered `pending`.
    pub(super) fn available(
        &mut self,
        name: &str,
        found: Availability,
    ) -> Result<Option<std::time::Duration>, Ended> {
        let (event, outcome, code, message) = match found {
            Availability::Ready { timeout } => return Ok(timeout),
            Availability::Here => return Ok(None),
            Availability::Missing => (
                EventKind::ActionNotFound,
                "target_not_found",
                "ACTION_NOT_FOUND",
                format!(
                    "the action \"{name}\" is not registered; register it: flo action register {name}"
                ),
            ),
            Availability::Disabled => (
                EventKind::ActionDisabled,
                "target_disabled",
                "ACTION_DISABLED",
                format!("the action \"{name}\" is not enabled"),
            ),
        };
        self.push(event, name);
        Err(Ended::by_engine(outcome, code, &message))
    }

    /// Records a task, which is sent after the commit; without an input it gets that of the run.
    pub(super) fn send(
        &mut self,
        action: &Name,
        input: Option<SentInput>,
        timeout: Option<std::time::Duration>,
    ) -> Flow {
        let input = match input {
            None => {
                self.push(EventKind::AwaitingAction, action);
                self.run.input.clone()
            }
            Some(SentInput::Kept(payload)) => {
                self.push(EventKind::AwaitingAction, action);
                payload
            }
            Some(SentInput::New(text)) => {
                Payload::At(self.push_with(EventKind::AwaitingAction, action, Some(text)))
            }
        };
        self.park_task(action, input, timeout)
    }

    fn park_task(
        &mut self,
        action: &Name,
        input: Payload,
        timeout: Option<std::time::Duration>,
    ) -> Flow {
        self.run.ordinal += 1;
        let ordinal = self.run.ordinal;
        let key = *self.run.key.get_or_insert(ordinal);
        let task = Task {
            ordinal,
            key,
            action: action.clone(),
            input,
            purpose: None,
        };
        self.effects.push(Effect::Send(task.clone()));
        Flow::Park(Waiting::Task {
            task,
            timeout,
            accepted: false,
            until: None,
        })
    }

    /// Does an action within the turn; without an input it gets that of the run.
    pub(super) fn call_here(&mut self, action: &Name, input: Option<SentInput>) -> Flow {
        match input {
            Some(SentInput::New(text)) => {
                let fresh = self.run.pass.is_some().then(|| Arc::clone(&text));
                ask_call(action, text, fresh)
            }
            Some(SentInput::Kept(payload)) => self.call_here_with(action, &payload),
            None => {
                let payload = self.run.input.clone();
                self.call_here_with(action, &payload)
            }
        }
    }

    pub(super) fn call_here_with(&mut self, action: &Name, payload: &Payload) -> Flow {
        match (self.run.lacks(payload), self.run.text(payload)) {
            (Some(at), _) => load(vec![at], Doing::CallHere(action.clone(), payload.clone())),
            (None, text) => {
                let input = Arc::from(text.unwrap_or("null"));
                ask_call(action, input, None)
            }
        }
    }

    /// An action was done within the turn.
    pub(super) fn called_here(&mut self, fresh: Option<Arc<str>>, answer: Answer) -> Flow {
        let ended = match answer {
            Answer::Outcome { outcome, .. } if !is_of_an_action(&outcome) => {
                let message = format!("an action cannot answer with the outcome \"{outcome}\"");
                Ended::by_engine("execution_failure", "BAD_REQUEST", &message)
            }
            Answer::Outcome { outcome, output } => Ended::business(&outcome, output),
            Answer::Deadline => Ended::deadline("the action did not answer in time"),
            Answer::Lost { code, message } => {
                Ended::by_engine("execution_failure", &code, &message)
            }
        };
        // Another attempt of a plan's executor may come after a pause.
        let is_kept = fresh.is_some();
        let at = self.push_with(EventKind::ActionCompleted, &ended.outcome, fresh);
        if is_kept && let Some(pass) = self.run.pass.as_mut() {
            pass.input = Some(Payload::At(at));
        }
        Flow::Go(Doing::Ended(ended))
    }

    pub(super) fn started_child(&mut self, reference: &str, child: StartedChild) -> Flow {
        match child {
            StartedChild::Started { run } => {
                self.push(EventKind::AwaitingChild, &run);
                Flow::Park(Waiting::Child { run })
            }
            StartedChild::Missing => {
                self.push(EventKind::ChildNotFound, reference);
                let message = format!("there is no workflow \"{reference}\"");
                ended_by_engine("target_not_found", "RUN_DEFINITION_NOT_FOUND", &message)
            }
            StartedChild::Disabled => {
                let message = format!("the workflow \"{reference}\" is disabled");
                ended_by_engine("target_disabled", "RUN_DEFINITION_DISABLED", &message)
            }
        }
    }

    fn wait(&mut self, wait: &Wait) -> Flow {
        if let Err(bound) = self.count() {
            return fail(bound);
        }
        let mut stored = self.run.signals.iter();
        if let Some(at) = stored.position(|signal| signal.kind == wait.signal)
            && let Some(signal) = self.run.signals.remove(at)
        {
            self.push(EventKind::SignalMatched, &signal.kind);
            return Flow::Go(Doing::Ended(matched(Output::Kept(signal.payload))));
        }
        self.push(EventKind::WaitingForSignal, &wait.signal);
        Flow::Park(Waiting::Signal {
            kind: wait.signal.clone(),
            until: wait.timeout.map(|timeout| self.world.now.after(timeout)),
        })
    }

    pub(super) fn signal_timeout(&mut self) -> Flow {
        let Some(step) = self.step() else {
            return fail("the step is not in the program");
        };
        let on_timeout = match &step.kind {
            Kind::Wait(wait) => wait.on_timeout.as_ref(),
            Kind::Run { .. } | Kind::Saga(_) => None,
        };
        let target = on_timeout.or_else(|| lookup(step, "timeout", By::Callee));
        self.push(EventKind::SignalTimeout, target.map_or("", |target| target));
        let ended = Ended {
            outcome: "timeout".into(),
            by: By::Deadline,
            output: Output::Kept(Payload::Inline("null".into())),
        };
        self.record(ended, None);
        match target {
            Some(target) => self.follow(target),
            None => Flow::Go(Doing::Finish(Ending {
                status: Status::TimedOut,
                detail: "signal timeout".into(),
                terminal: None,
                error: Some(RunError {
                    code: None,
                    message: "signal timeout".into(),
                }),
            })),
        }
    }

    /// An execution of the step has ended: it is polled or retried, or the step is left.
    pub(super) fn ended(&mut self, ended: Ended) -> Flow {
        self.ended_because(ended, None)
    }

    /// The same, with why it failed, if it did and its output does not say so.
    pub(super) fn ended_because(&mut self, mut ended: Ended, mut reason: Option<RunError>) -> Flow {
        let Some(Step {
            kind:
                Kind::Run {
                    target,
                    retry,
                    poll,
                    ..
                },
            ..
        }) = self.step()
        else {
            return self.leave(ended, reason);
        };
        let is_entity = matches!(target, Target::Entity(_));
        if &*ended.outcome == "pending"
            && !is_entity
            && let Some(poll) = poll
        {
            let name = self.name();
            if let Some(delay) = poll.next(self.run.visit.polls, self.world.chance) {
                self.run.visit.polls += 1;
                self.push(EventKind::PollScheduled, &name);
                return self.later(delay, Then::Poll);
            }
            self.push(EventKind::PollExhausted, &name);
            ended.outcome = "timeout".into();
            reason = Some(RunError {
                code: None,
                message: "still pending after the last poll".into(),
            });
        }
        let visit = &self.run.visit;
        let first = visit.first.unwrap_or(self.world.now);
        let executions = visit.executions.saturating_sub(visit.polls);
        if ["failure", "execution_failure"].contains(&&*ended.outcome)
            && let Some(retry) = retry
            && let Some(delay) =
                retry.next(executions, self.world.now.since(first), self.world.chance)
        {
            self.keep_reason(&ended.output);
            if !delay.is_zero() {
                let name = self.name();
                self.push(EventKind::RetryScheduled, &name);
            }
            return self.later(delay, Then::Retry);
        }
        self.leave(ended, reason)
    }

    pub(super) fn retry(&mut self) -> Flow {
        let name = self.name();
        self.push(EventKind::StepRetry, &name);
        Flow::Go(Doing::Execute)
    }

    /// The step has ended; what follows is looked up.
    fn leave(&mut self, ended: Ended, reason: Option<RunError>) -> Flow {
        let name = self.name();
        let data = match &ended.output {
            Output::Text(text) => Some(Arc::clone(text)),
            Output::Kept(_) => None,
        };
        let sequence = self.push_with(EventKind::StepCompleted, &name, data);
        let (outcome, by) = (ended.outcome.clone(), ended.by);
        let is_tick = self.world.program.is_tick();
        let said = match &ended.output {
            Output::Text(text) => Some(&**text),
            Output::Kept(payload) => self.run.text(payload),
        };
        let reason = (is_tick || &*outcome != "success")
            .then(|| said.and_then(|said| self.reason_of(said)).or(reason))
            .flatten();
        self.record(ended, Some(sequence));
        let target = self.step().and_then(|step| lookup(step, &outcome, by));
        match (target, reason) {
            (Some(target), reason) => because(self.follow(target), &name, reason),
            (None, Some(reason)) if is_tick => Flow::Go(Doing::Finish(Ending {
                error: Some(reason.clone()),
                ..Ending::failed(&reason.message)
            })),
            (None, _) => fail(&format!("no transition for outcome {outcome}")),
        }
    }

    /// Why an execution of the step failed, if its output says so.
    fn reason_of(&self, output: &str) -> Option<RunError> {
        reason_of(output).or_else(|| self.refusal_of(output))
    }

    /// Keeps the result of the step. Its output is that of the event of this number.
    fn record(&mut self, ended: Ended, sequence: Option<u64>) {
        let position = self.run.position.as_ref();
        let name: Name = position.map_or(START_IN_PATHS, Position::in_paths).into();
        self.run.results.remove(&name);
        let output = match ended.output {
            Output::Kept(payload) => payload,
            Output::Text(text) => self.run.payload(&text, sequence.unwrap_or_default()),
        };
        let result = StepResult {
            outcome: ended.outcome,
            output,
            executions: self.run.visit.executions,
        };
        self.run.results.insert(name, result);
    }

    /// Goes to a step, or ends at a terminal.
    fn follow(&mut self, target: &Name) -> Flow {
        let program = self.world.program;
        if program.steps.contains_key(target) {
            return Flow::Go(Doing::Enter(Position::Step(target.clone())));
        }
        match program.terminals.get(target) {
            None => fail(&format!("there is no step or terminal \"{target}\"")),
            Some(terminal) => Flow::Go(Doing::Finish(Ending {
                status: terminal.status.into(),
                detail: target.clone(),
                terminal: Some(target.clone()),
                error: None,
            })),
        }
    }

    /// Computes what is only known at the end, and ends the run.
    pub(super) fn finish(&mut self, mut ending: Ending) -> Flow {
        let program = self.world.program;
        let terminal = ending.terminal.as_ref();
        let terminal = terminal.and_then(|name| program.terminals.get(name));
        let of_terminal = terminal.and_then(|terminal| terminal.output.as_ref());
        let of_run = program.output.as_ref();
        let mapping = of_terminal.or_else(|| of_run.filter(|_| ending.status == Status::Completed));
        let output = match mapping.map(|mapping| self.mapped(mapping, true)) {
            None => None,
            Some(Ok(Prepared::Ready(text))) => Some(Arc::from(text)),
            Some(Ok(Prepared::Load(events))) => return load(events, Doing::Finish(ending)),
            Some(Err(error)) => {
                ending.error = Some(RunError {
                    code: None,
                    message: format!("the output of the run: {error}").into(),
                });
                None
            }
        };
        let attributes = &program.search_attributes;
        match self.run.attributes(attributes, self.world.now) {
            Prepared::Load(events) => return load(events, Doing::Finish(ending)),
            Prepared::Ready(attributes) => {
                self.run.attributes = attributes.values;
                let code = None;
                let left_out = attributes.left_out;
                let left_out = left_out.map(|message| RunError { code, message });
                ending.error = ending.error.or(left_out);
            }
        }
        let event = match ending.status {
            Status::Completed => EventKind::WorkflowCompleted,
            Status::Cancelled => EventKind::WorkflowCancelled,
            Status::TimedOut => EventKind::WorkflowTimedOut,
            Status::Pending | Status::Running | Status::Waiting | Status::Failed => {
                EventKind::WorkflowFailed
            }
        };
        let sequence = self.push_with(event, &ending.detail, output.clone());
        let output = output.map(|output| self.run.payload(&output, sequence));
        self.run.output = output.or_else(|| self.output_of_tick(ending.status));
        if matches!(ending.status, Status::Failed | Status::TimedOut) {
            let reason = ending.error.as_ref().map(|error| error.message.clone());
            self.effects.push(Effect::Log(Problem::RunFailed {
                reason: reason.unwrap_or(ending.detail),
            }));
        }
        self.run.end(ending.status, ending.error, self.world.now);
        Flow::End
    }

    /// What a tick has done: the output of its one step.
    fn output_of_tick(&self, status: Status) -> Option<Payload> {
        let is_done = status == Status::Completed && self.world.program.is_tick();
        let result = self.run.results.get(START_IN_PATHS).filter(|_| is_done)?;
        Some(result.output.clone())
    }
}

impl Run {
    fn end(&mut self, status: Status, error: Option<RunError>, now: Timestamp) {
        self.status = status;
        self.error = error;
        self.ended = Some(now);
        self.position = None;
        self.waiting = None;
        self.pass = None;
        self.key = None;
    }
}

/// The input of a task that is not that of the run.
pub(super) enum SentInput {
    New(Arc<str>),
    Kept(Payload),
}

pub(super) fn fail(message: &str) -> Flow {
    Flow::Go(Doing::Finish(Ending::failed(message)))
}

/// What follows a step: a run that fails because the step did says why.
fn because(flow: Flow, step: &str, reason: Option<RunError>) -> Flow {
    match (flow, reason) {
        (Flow::Go(Doing::Finish(ending)), Some(reason))
            if ending.status == Status::Failed && ending.error.is_none() =>
        {
            Flow::Go(Doing::Finish(Ending {
                error: Some(RunError {
                    message: format!("step {step}: {}", reason.message).into(),
                    ..reason
                }),
                ..ending
            }))
        }
        (flow, _) => flow,
    }
}

fn load(events: Vec<u64>, then: Doing) -> Flow {
    let asked = events.clone();
    Flow::Ask(Ask::Load(events), Doing::Loading(asked, Box::new(then)))
}

/// Asks for an action that is done within the turn.
fn ask_call(action: &Name, input: Arc<str>, fresh: Option<Arc<str>>) -> Flow {
    let ask = Ask::Call {
        action: action.clone(),
        input,
    };
    Flow::Ask(ask, Doing::CalledHere(fresh))
}

fn ended_by_engine(outcome: &str, code: &str, message: &str) -> Flow {
    Flow::Go(Doing::Ended(Ended::by_engine(outcome, code, message)))
}

/// What follows an outcome: business outcomes have their own transition or none, execution
/// outcomes fall back (1.4).
fn lookup<'s>(step: &'s Step, outcome: &str, by: By) -> Option<&'s Name> {
    let chain: &[&str] = match by {
        By::Callee | By::Deadline => &[outcome],
        By::Engine => &[outcome, "execution_failure", "failure"],
    };
    chain.iter().find_map(|outcome| {
        let named = step
            .transitions
            .iter()
            .find(|(name, _)| **name == **outcome);
        named.map(|(_, target)| target)
    })
}
