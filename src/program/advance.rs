//! What reaches a run, and what it does to it.

use std::sync::Arc;

use super::{
    arrival::{Answer, Arrival, Ask, Effect, Since, Turn, Wanted},
    entity::Awaited,
    form::{EntityStep, Program, Tracking},
    history::EventKind,
    machine::{By, Doing, Ended, Ending, Flow, HISTORY_MAX, Machine, Output},
    run::{Position, Run, RunError, Signal, Status, Then, Waiting},
};
use crate::clock::Timestamp;

/// How many signals may wait in a run.
const SIGNALS_MAX: usize = 1_000;

/// What a turn knows beside the run.
#[derive(Debug, Clone, Copy)]
pub struct World<'w> {
    pub program: &'w Program,
    pub now: Timestamp,
    /// A random number.
    pub chance: u64,
    pub limits: Limits,
    /// Whether a step on an entity has a turn of its own: what was tried together met conflicts.
    pub is_apart: bool,
    /// Whether what is done first in this turn is refused: it has met conflicts each time.
    pub is_contended: bool,
    /// Whether what was done since the run was loaded is enough for one commit.
    pub is_full: bool,
}

/// The bounds of runs (`runs.md` §9).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Executions of steps in a run.
    pub steps_max: u64,
    /// Parents above a run.
    pub depth_max: u32,
    /// Bytes of an input and an output.
    pub payload_max: usize,
}

impl Limits {
    pub const DEFAULT: Self = Self {
        steps_max: 10_000,
        depth_max: 10,
        payload_max: 1 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Why nothing happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the run is {}", .0.as_str())]
    Finished(Status),
    #[error("{SIGNALS_MAX} signals wait in the run; wait until some are taken")]
    TooManySignals,
    #[error("the history of the run would be too large with this signal")]
    HistoryFull,
    /// A saga takes only the signal that it waits for.
    #[error("the run does not wait for this signal")]
    NotAwaited(Option<Box<str>>),
    /// The caller answered what was not asked, or did not answer what was.
    #[error("the answer does not belong to what the run asked")]
    NotAsked,
}

impl Run {
    /// Takes what has arrived, and moves as far as it leads.
    ///
    /// # Errors
    /// Why nothing happened; the stored run stays as it is.
    pub fn advance(self, arrival: Arrival, world: &World<'_>) -> Result<Turn, Refusal> {
        let asked = self.doing.is_some();
        let mut machine = Machine::new(self, world);
        let flow = match arrival {
            Arrival::Replied(reply) => machine.replied(reply)?,
            _ if asked => return Err(Refusal::NotAsked),
            Arrival::Answered { ordinal, answer } => machine.answered(ordinal, answer),
            Arrival::Signal { kind, payload } => machine.signal(kind, payload)?,
            Arrival::Cancel { reason } => machine.cancel(&reason)?,
            // A saga may still undo something after its end.
            Arrival::Due { at } => machine.due(at),
            _ if machine.run.status.is_end() => machine.ignore(),
            Arrival::Start => machine.start(),
            Arrival::ChildEnded {
                run,
                status,
                output,
                error,
            } => machine.child_ended(&run, status, output, error),
            Arrival::EntityMoved => machine.look_at_entity(false),
        };
        Ok(machine.drive(flow))
    }

    /// Refuses a signal, with a payload of so many bytes, that the run cannot take as it is.
    ///
    /// # Errors
    /// Why it cannot take it.
    pub fn check_signal(&self, kind: &str, bytes: usize) -> Result<(), Refusal> {
        if self.status.is_end() {
            return Err(Refusal::Finished(self.status));
        }
        let awaited = self.awaited_signal();
        let is_awaited = awaited == Some(kind);
        if self.saga.is_some() && !is_awaited {
            return Err(Refusal::NotAwaited(awaited.map(Into::into)));
        }
        if !is_awaited && self.signals.len() >= SIGNALS_MAX {
            return Err(Refusal::TooManySignals);
        }
        if self.history_bytes + bytes as u64 > HISTORY_MAX {
            return Err(Refusal::HistoryFull);
        }
        Ok(())
    }

    fn awaited_signal(&self) -> Option<&str> {
        match &self.waiting {
            Some(Waiting::Signal { kind, .. }) => Some(kind),
            Some(_) | None => None,
        }
    }
}

impl Machine<'_> {
    /// What arrived is of no concern any more.
    const fn ignore(&mut self) -> Flow {
        self.taken = false;
        Flow::Stay
    }

    fn start(&mut self) -> Flow {
        if self.run.status != Status::Pending {
            return self.ignore();
        }
        self.run.status = Status::Running;
        self.run.started = Some(self.world.now);
        if self.run.saga.is_some() {
            return self.enter_at(0);
        }
        Flow::Go(Doing::Enter(Position::Start))
    }

    fn answered(&mut self, ordinal: u64, answer: Answer) -> Flow {
        let (out, purpose) = match &self.run.waiting {
            Some(Waiting::Task { task, timeout, .. }) if task.ordinal == ordinal => {
                (*timeout, task.purpose.clone())
            }
            _ => {
                let outcome = match &answer {
                    Answer::Outcome { outcome, .. } => outcome,
                    Answer::Deadline => "timeout",
                    Answer::Lost { .. } => "execution_failure",
                };
                self.push(EventKind::LateAnswer, outcome);
                self.taken = false;
                return self.answered_late(ordinal, &answer).unwrap_or(Flow::Stay);
            }
        };
        if let Some(purpose) = purpose {
            let is_pending =
                matches!(&answer, Answer::Outcome { outcome, .. } if &**outcome == "pending");
            if is_pending && let Some(flow) = self.accept(out) {
                return flow;
            }
            return self.call_answered(purpose, answer);
        }
        let ended = match answer {
            Answer::Outcome { outcome, .. } if !is_of_an_action(&outcome) => {
                self.push(EventKind::ActionLost, "execution_failure");
                let message = format!("an action cannot answer with the outcome \"{outcome}\"");
                Ended::by_engine("execution_failure", "BAD_REQUEST", &message)
            }
            Answer::Outcome { outcome, output } => {
                self.run.key = None;
                if &*outcome == "pending"
                    && let Some(flow) = self.accept(out)
                {
                    return flow;
                }
                self.push(EventKind::ActionCompleted, &outcome);
                Ended::business(&outcome, output)
            }
            Answer::Deadline => {
                self.push(EventKind::ActionCompleted, "timeout");
                Ended::deadline("the action did not answer in time")
            }
            Answer::Lost { code, message } => {
                self.push(EventKind::ActionLost, "execution_failure");
                Ended::by_engine("execution_failure", &code, &message)
            }
        };
        self.resume();
        Flow::Go(Doing::Ended(ended))
    }

    /// Keeps waiting for a task that answered `pending`, where the step neither polls nor has a
    /// transition for it, or where its executor is tracked.
    fn accept(&mut self, timeout: Option<std::time::Duration>) -> Option<Flow> {
        let timeout = match self.tracking() {
            Some(Tracking::Async { timeout }) => *timeout,
            Some(Tracking::Sync) | None if self.has_use_for_pending() => return None,
            Some(Tracking::Sync) | None => timeout,
        };
        if let Some(Waiting::Task {
            accepted, until, ..
        }) = &mut self.run.waiting
            && !*accepted
        {
            *accepted = true;
            let after = timeout.map(|timeout| self.world.now.after(timeout));
            // A step of a saga may have a limit of its own.
            *until = until.iter().copied().chain(after).min();
        }
        Some(Flow::Stay)
    }

    fn signal(&mut self, kind: Box<str>, payload: Arc<str>) -> Result<Flow, Refusal> {
        self.run.check_signal(&kind, payload.len())?;
        let is_awaited = self.run.awaited_signal() == Some(&*kind);
        let text = Arc::clone(&payload);
        let sequence = self.push_with(EventKind::SignalReceived, &kind, Some(payload));
        let payload = self.run.payload(&text, sequence);
        if is_awaited {
            self.resume();
            self.push(EventKind::SignalMatched, &kind);
            if self.run.saga.is_some() {
                return Ok(self.signalled(payload));
            }
            return Ok(Flow::Go(Doing::Ended(matched(Output::Kept(payload)))));
        }
        self.run.signals.push_back(Signal {
            kind,
            payload,
            at: self.world.now,
        });
        Ok(self.ignore())
    }

    fn cancel(&mut self, reason: &str) -> Result<Flow, Refusal> {
        if self.run.status.is_end() {
            return Err(Refusal::Finished(self.run.status));
        }
        if self.run.saga.is_some() {
            return Ok(self.interrupt(Status::Cancelled, reason));
        }
        match self.resume() {
            Some(Waiting::Task { task, .. }) => self.effects.push(Effect::GiveUp {
                ordinal: task.ordinal,
                reason: reason.into(),
            }),
            Some(Waiting::Child { run }) => self.effects.push(Effect::CancelChild {
                run,
                reason: reason.into(),
            }),
            Some(Waiting::Signal { .. } | Waiting::Timer { .. } | Waiting::Entity { .. })
            | None => {}
        }
        Ok(Flow::Go(Doing::Finish(Ending {
            status: Status::Cancelled,
            detail: reason.into(),
            terminal: None,
            error: None,
        })))
    }

    fn due(&mut self, at: Timestamp) -> Flow {
        let has_come = |due: Timestamp| due == at || due <= self.world.now;
        if !self.run.due().is_some_and(has_come) {
            return self.ignore();
        }
        let deadline = self.run.saga.as_ref().and_then(|saga| saga.due());
        if deadline.is_some_and(has_come) {
            return self.interrupt(Status::TimedOut, "saga timeout");
        }
        if matches!(self.run.waiting, Some(Waiting::Entity { .. })) {
            // It may have been in one of the states before, and not been looked at.
            return self.look_at_entity(true);
        }
        let Some(waiting) = self.resume() else {
            return self.ignore();
        };
        match waiting {
            Waiting::Signal { kind, .. } if self.run.saga.is_some() => self.not_signalled(&kind),
            Waiting::Signal { .. } => self.signal_timeout(),
            Waiting::Timer { then, .. } => match then {
                Then::Retry => self.retry(),
                Then::Poll => Flow::Go(Doing::Execute),
                Then::Attempt => self.retry_attempt(),
                Then::Delay => self.delayed(),
                Then::Deferred => self.resumes_deferred(),
            },
            Waiting::Task {
                task,
                accepted,
                timeout,
                ..
            } if task.purpose.is_some() => self.abandon(task, timeout.is_some(), accepted),
            Waiting::Task { task, .. } => {
                self.push(EventKind::ActionCompleted, "timeout");
                self.effects.push(Effect::GiveUp {
                    ordinal: task.ordinal,
                    reason: "the outcome was not reported in time".into(),
                });
                let ended = Ended::deadline("the outcome was not reported in time");
                Flow::Go(Doing::Ended(ended))
            }
            // It has no due time.
            Waiting::Child { .. } | Waiting::Entity { .. } => self.ignore(),
        }
    }

    fn child_ended(
        &mut self,
        child: &str,
        status: Status,
        output: Option<Arc<str>>,
        error: Option<RunError>,
    ) -> Flow {
        match &self.run.waiting {
            Some(Waiting::Child { run }) if **run == *child => {}
            _ => return self.ignore(),
        }
        self.resume();
        let (outcome, how) = match status {
            Status::Completed => ("success", "completed"),
            Status::Cancelled => ("failure", "was cancelled"),
            Status::TimedOut => ("failure", "timed out"),
            Status::Pending | Status::Running | Status::Waiting | Status::Failed => {
                ("failure", "failed")
            }
        };
        self.push(EventKind::ChildCompleted, outcome);
        let output = output.unwrap_or_else(|| "{}".into());
        let (code, why) = error.map_or((None, None), |error| (error.code, Some(error.message)));
        let message = match why {
            Some(why) => format!("child {child} {how}: {why}"),
            None => format!("child {child} {how}"),
        };
        let message = message.into();
        let reason = RunError { code, message };
        self.ended_because(Ended::business(outcome, output), Some(reason))
    }

    /// The entity that is waited for may have moved, or the time for it is over.
    fn look_at_entity(&mut self, is_over: bool) -> Flow {
        let Some(Waiting::Entity {
            entity,
            states,
            until,
            seen,
        }) = self.run.waiting.clone()
        else {
            return self.ignore();
        };
        let input = serde_json::json!({"entityId": &*entity, "states": &states}).to_string();
        let ask = Ask::Entity {
            step: EntityStep::Await,
            input: input.into(),
            wanted: Wanted {
                states: states.clone(),
                since: seen.map_or(Since::Parked, Since::Position),
                until,
            },
        };
        let awaited = Awaited {
            entity,
            states,
            until,
            is_over,
        };
        Flow::Ask(ask, Doing::LookingAtEntity(awaited))
    }
}

/// A signal has been matched.
pub(super) fn matched(output: Output) -> Ended {
    Ended {
        outcome: "success".into(),
        by: By::Callee,
        output,
    }
}

/// Whether an action may give this outcome (`runs.md` §5.2).
pub(super) fn is_of_an_action(outcome: &str) -> bool {
    let by_engine = ["execution_failure", "target_not_found", "target_disabled"];
    (1..=128).contains(&outcome.len()) && !outcome.starts_with('_') && !by_engine.contains(&outcome)
}
