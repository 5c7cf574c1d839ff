//! The machine itself: what it holds during a turn, and the loop that moves it.

use std::{mem, sync::Arc};

use super::{
    advance::{Refusal, World},
    arrival::{Ask, Effect, Next, Reply, Turn},
    entity::Awaited,
    form::{Name, Step},
    history::{EventKind, HistoryEvent},
    input::Input,
    run::{Payload, Position, Run, RunError, Status, Then, Waiting},
    saga::Purpose,
};
use crate::expr::Budget;

/// What a history may take; beyond it the run fails.
pub(super) const HISTORY_MAX: u64 = 64 << 20;

/// Executions of steps without waiting in between; beyond them the run fails.
const EXECUTIONS_MAX: u32 = 256;

/// Why a run fails that has reached a bound (`orchestration.md` 1.13).
const TOO_MANY_STEPS: &str = "max step limit reached";
const HISTORY_TOO_LARGE: &str = "the history of the run has more than 64 MiB";

/// What a turn does next.
#[derive(Debug, Clone)]
pub(super) enum Doing {
    Enter(Position),
    /// The step runs, or waits.
    Execute,
    /// An execution has ended.
    Ended(Ended),
    /// The executor at the plan's place is tried.
    Attempt,
    Finish(Ending),
    // What has been asked, and what for.
    Loading(Vec<u64>, Box<Self>),
    CallingAction(Input),
    /// The same, for the executor of a plan.
    AttemptingAction,
    /// An action is done within the turn, with the input that this payload is.
    CallHere(Name, Payload),
    /// The same, while it is done. The input of a plan's pass that is stored nowhere yet goes with
    /// it.
    CalledHere(Option<Arc<str>>),
    StartingChild(Name),
    /// A saga calls a connector.
    Call(Purpose),
    /// It undoes what it has done.
    Unwind,
    Calling(Purpose, Arc<str>),
    CalledConnector(Purpose),
    CallingEntity,
    LookingAtEntity(Awaited),
    Ordering(Name, Input, Option<Box<str>>),
    Permitting,
}

/// How an execution ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) outcome: Box<str>,
    pub(super) by: By,
    pub(super) output: Output,
}

/// Who says how an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// What was called: a business outcome.
    Callee,
    /// Nobody, within the time there was: the business outcome `timeout`.
    Deadline,
    /// The engine, as nothing was called or the answer was lost: an execution outcome.
    Engine,
}

#[derive(Debug, Clone)]
pub(super) enum Output {
    Text(Arc<str>),
    /// An earlier event has it.
    Kept(Payload),
}

impl Ended {
    pub(super) fn business(outcome: &str, output: Arc<str>) -> Self {
        Self {
            outcome: outcome.into(),
            by: By::Callee,
            output: Output::Text(output),
        }
    }

    pub(super) fn deadline(message: &str) -> Self {
        Self {
            outcome: "timeout".into(),
            by: By::Deadline,
            output: Output::Text(failure_output("timeout", message)),
        }
    }

    /// An outcome that only the engine gives, with what is wrong as its output.
    pub(super) fn by_engine(outcome: &str, code: &str, message: &str) -> Self {
        Self {
            outcome: outcome.into(),
            by: By::Engine,
            output: Output::Text(failure_output(code, message)),
        }
    }
}

/// The output of an execution that has none of its own.
pub(super) fn failure_output(code: &str, message: &str) -> Arc<str> {
    serde_json::json!({"error": message, "error_code": code})
        .to_string()
        .into()
}

/// How a run ends.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub(super) status: Status,
    pub(super) detail: Box<str>,
    /// The terminal that was reached.
    pub(super) terminal: Option<Name>,
    pub(super) error: Option<RunError>,
}

impl Ending {
    /// A run that fails without a terminal.
    pub(super) fn failed(message: &str) -> Self {
        Self {
            status: Status::Failed,
            detail: message.into(),
            terminal: None,
            error: Some(RunError {
                code: None,
                message: message.into(),
            }),
        }
    }
}

/// What becomes of the turn.
pub(super) enum Flow {
    Go(Doing),
    Ask(Ask, Doing),
    Park(Waiting),
    /// What was done so far is committed, and the run goes on at once. It has not waited.
    PutOff(Then),
    /// Nothing changes but the history.
    Stay,
    End,
}

pub(super) struct Machine<'w> {
    pub(super) run: Run,
    pub(super) world: &'w World<'w>,
    pub(super) history: Vec<HistoryEvent>,
    pub(super) effects: Vec<Effect>,
    pub(super) taken: bool,
}

impl<'w> Machine<'w> {
    pub(super) const fn new(run: Run, world: &'w World<'w>) -> Self {
        Self {
            run,
            world,
            history: Vec::new(),
            effects: Vec::new(),
            taken: true,
        }
    }

    /// Moves until something is asked, waited for or at its end.
    pub(super) fn drive(mut self, mut flow: Flow) -> Turn {
        let next = loop {
            flow = match flow {
                Flow::Go(doing) => self.go(doing),
                Flow::Ask(ask, doing) => {
                    self.run.doing = Some(doing);
                    break Next::Ask(ask);
                }
                Flow::Park(waiting) => {
                    self.run.waiting = Some(waiting);
                    // What a saga undoes after its end does not open it again.
                    if self.run.status.is_end() {
                        break self.at_rest(Next::End);
                    }
                    self.run.status = Status::Waiting;
                    break self.at_rest(Next::Park);
                }
                Flow::PutOff(then) => {
                    let until = self.world.now;
                    self.run.waiting = Some(Waiting::Timer { then, until });
                    self.unload();
                    if self.run.status.is_end() {
                        break Next::End;
                    }
                    self.run.status = Status::Waiting;
                    break Next::Park;
                }
                Flow::Stay if self.run.status.is_end() => break self.at_rest(Next::End),
                Flow::Stay => break self.at_rest(Next::Park),
                Flow::End => break self.at_rest(Next::End),
            };
        };
        Turn {
            run: self.run,
            next,
            history: self.history,
            effects: self.effects,
            taken: self.taken,
        }
    }

    fn at_rest(&mut self, next: Next) -> Next {
        self.run.taken = 0;
        self.run.budget = Budget::default();
        self.unload();
        next
    }

    /// Forgets what is not stored.
    fn unload(&mut self) {
        self.run.has_entered = false;
        self.run.has_called = false;
        self.run.loaded.clear();
    }

    fn go(&mut self, doing: Doing) -> Flow {
        match doing {
            Doing::Enter(position) => self.enter(position),
            Doing::Execute => self.execute(),
            Doing::Ended(ended) if self.run.pass.is_some() => self.attempt_ended(ended),
            Doing::Ended(ended) => self.ended(ended),
            Doing::Attempt => self.attempt(),
            Doing::CallHere(action, payload) => self.call_here_with(&action, &payload),
            Doing::Finish(ending) => self.finish(ending),
            Doing::Call(purpose) => self.call_connector(purpose),
            Doing::Unwind => self.unwind(),
            // What has been asked for is continued by `replied`.
            asked @ (Doing::Loading(..)
            | Doing::CallingAction(_)
            | Doing::AttemptingAction
            | Doing::CalledHere(_)
            | Doing::StartingChild(_)
            | Doing::Calling(..)
            | Doing::CalledConnector(_)
            | Doing::CallingEntity
            | Doing::LookingAtEntity(..)
            | Doing::Ordering(..)
            | Doing::Permitting) => {
                self.run.doing = Some(asked);
                Flow::Stay
            }
        }
    }

    /// Continues with the answer to what was asked.
    pub(super) fn replied(&mut self, reply: Reply) -> Result<Flow, Refusal> {
        let doing = self.run.doing.take().ok_or(Refusal::NotAsked)?;
        Ok(match (doing, reply) {
            (Doing::Loading(asked, then), Reply::Loaded(values)) => {
                self.run.loaded.extend(values);
                if asked.iter().any(|at| !self.run.loaded.contains_key(at)) {
                    return Err(Refusal::NotAsked);
                }
                Flow::Go(*then)
            }
            (Doing::CallingAction(input), Reply::Action(found)) => self.call_action(input, found),
            (Doing::AttemptingAction, Reply::Action(found)) => self.attempt_action(found),
            (Doing::CalledHere(fresh), Reply::Called(answer)) => self.called_here(fresh, answer),
            (Doing::StartingChild(name), Reply::Child(child)) => self.started_child(&name, child),
            (Doing::CallingEntity, Reply::Entity(answer)) => self.entity_answered(None, answer),
            (Doing::LookingAtEntity(awaited), Reply::Entity(answer)) => {
                self.entity_answered(Some(awaited), answer)
            }
            (Doing::Ordering(plan, input, key), Reply::Order(chosen)) => {
                self.begin_pass(plan, input, key, chosen)
            }
            (Doing::Permitting, Reply::Permit(permit)) => self.permitted(permit),
            (Doing::Calling(purpose, request), Reply::Connector(reach)) => {
                self.call_through(purpose, request, reach)
            }
            (Doing::CalledConnector(purpose), Reply::Called(answer)) => {
                self.called_connector(purpose, answer)
            }
            _ => return Err(Refusal::NotAsked),
        })
    }

    /// Writes an event and returns its number.
    pub(super) fn push(&mut self, kind: EventKind, detail: &str) -> u64 {
        self.push_with(kind, detail, None)
    }

    pub(super) fn push_with(
        &mut self,
        kind: EventKind,
        detail: &str,
        data: Option<Arc<str>>,
    ) -> u64 {
        self.run.sequence += 1;
        let event = HistoryEvent {
            sequence: self.run.sequence,
            kind,
            detail: detail.into(),
            micros: self.world.now.micros(),
            data,
            task: None,
            attempt: None,
        };
        self.run.history_bytes += event.bytes();
        self.history.push(event);
        self.run.sequence
    }

    /// The step at which the run is; none if its form does not have it.
    pub(super) fn step(&self) -> Option<&'w Step> {
        match self.run.position.as_ref()? {
            Position::Start => self.world.program.entry.as_ref(),
            Position::Step(name) => self.world.program.steps.get(name),
        }
    }

    /// The name of the step in events.
    pub(super) fn name(&self) -> Box<str> {
        let position = self.run.position.as_ref();
        position.map_or("", Position::name).into()
    }

    /// Counts an execution; the bound that the run has reached, if it has.
    pub(super) fn count(&mut self) -> Result<(), &'static str> {
        self.run.visit.executions += 1;
        self.run.visit.first.get_or_insert(self.world.now);
        self.count_attempt()
    }

    /// Counts another attempt within an execution.
    pub(super) fn count_attempt(&mut self) -> Result<(), &'static str> {
        let run = &mut self.run;
        run.steps += 1;
        run.taken += 1;
        if run.history_bytes > HISTORY_MAX {
            return Err(HISTORY_TOO_LARGE);
        }
        if run.taken > EXECUTIONS_MAX || run.steps > self.world.limits.steps_max {
            return Err(TOO_MANY_STEPS);
        }
        Ok(())
    }

    /// Takes what the run waits for; it is running again.
    pub(super) fn resume(&mut self) -> Option<Waiting> {
        if !self.run.status.is_end() {
            self.run.status = Status::Running;
        }
        mem::take(&mut self.run.waiting)
    }
}
