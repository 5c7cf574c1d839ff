//! Steps that work on entities, in the commit of their run (`runs.md` §6).

use serde::Deserialize;

use super::{
    arrival::{Ask, EntityAnswer, Since, Wanted},
    form::{EntityStep, Kind, Target},
    history::EventKind,
    machine::{Doing, Ended, Flow, Machine},
    run::{RunError, Then, Waiting},
};
use crate::clock::Timestamp;

/// The input of `@entity/await`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AwaitInput {
    #[serde(rename = "entityId")]
    entity: Box<str>,
    states: Vec<Box<str>>,
    timeout_ms: Option<u64>,
}

impl AwaitInput {
    /// What names no state would never be reached.
    fn with_states(self) -> Result<Self, String> {
        if self.states.is_empty() {
            return Err("`states` is empty; name the states that are waited for".to_owned());
        }
        Ok(self)
    }
}

/// An entity that is waited for.
#[derive(Debug, Clone)]
pub(super) struct Awaited {
    pub(super) entity: Box<str>,
    pub(super) states: Vec<Box<str>>,
    pub(super) until: Option<Timestamp>,
    /// Whether the time is over.
    pub(super) is_over: bool,
}

impl Machine<'_> {
    /// Why the step was refused, if it works on an entity, from an output as [`refused`] writes it.
    pub(super) fn refusal_of(&self, output: &str) -> Option<RunError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Refusal {
            code: Box<str>,
            message: Box<str>,
            #[serde(rename = "retryable")]
            _retryable: bool,
        }
        if !self.is_of_entity() {
            return None;
        }
        let refusal: Refusal = serde_json::from_str(output).ok()?;
        Some(RunError {
            code: Some(refusal.code),
            message: refusal.message,
        })
    }

    fn is_of_entity(&self) -> bool {
        let kind = self.step().map(|step| &step.kind);
        matches!(
            kind,
            Some(Kind::Run {
                target: Target::Entity(_),
                ..
            })
        )
    }

    /// Whether what was done so far is committed before the step is executed: it is enough for one
    /// commit, or the step may work on an entity and has a turn of its own, so that its conflicts
    /// are known to be its own.
    pub(super) fn stands_apart(&self) -> bool {
        let may_be_of_entity = self.is_of_entity() || self.run.saga.is_some();
        self.world.is_full || (self.world.is_apart && may_be_of_entity)
    }

    /// Does something after a delay, at once if there is none.
    pub(super) fn later(&mut self, delay: std::time::Duration, then: Then) -> Flow {
        if delay.is_zero() && self.stands_apart() {
            // Its conflicts are counted from zero.
            return Flow::PutOff(then);
        }
        if delay.is_zero() {
            return match then {
                Then::Retry => self.retry(),
                Then::Poll => Flow::Go(Doing::Execute),
                Then::Attempt => self.retry_attempt(),
                Then::Delay => self.delayed(),
                Then::Deferred => self.resumes_deferred(),
            };
        }
        let until = self.world.now.after(delay);
        Flow::Park(Waiting::Timer { then, until })
    }

    pub(super) fn call_entity(&mut self, step: EntityStep, input: &str) -> Flow {
        if step != EntityStep::Await {
            let ask = Ask::Entity {
                step,
                input: input.into(),
                wanted: Wanted::default(),
            };
            return Flow::Ask(ask, Doing::CallingEntity);
        }
        // An array would be read as the fields in their order.
        let parsed = if input.trim_start().starts_with('{') {
            serde_json::from_str::<AwaitInput>(input).map_err(|error| error.to_string())
        } else {
            Err("the input is not an object".to_owned())
        };
        match parsed.and_then(AwaitInput::with_states) {
            Err(message) => {
                let outcome = self.named_or("bad_request", "failure").into();
                let ended = Ended {
                    outcome,
                    ..refused("BAD_REQUEST", &message, false)
                };
                Flow::Go(Doing::Ended(self.completed_inside(ended)))
            }
            Ok(parsed) => {
                let after = parsed.timeout_ms.map(std::time::Duration::from_millis);
                let until = after.map(|after| self.world.now.after(after));
                let ask = Ask::Entity {
                    step,
                    input: input.into(),
                    wanted: Wanted {
                        states: parsed.states.clone(),
                        since: Since::Now,
                        until: None,
                    },
                };
                let doing = Doing::LookingAtEntity(Awaited {
                    entity: parsed.entity,
                    states: parsed.states,
                    until,
                    is_over: false,
                });
                Flow::Ask(ask, doing)
            }
        }
    }

    pub(super) fn entity_answered(
        &mut self,
        waited: Option<Awaited>,
        answer: EntityAnswer,
    ) -> Flow {
        let ended = match (answer, waited) {
            (
                EntityAnswer::NotYet { seen },
                Some(Awaited {
                    entity,
                    states,
                    until,
                    is_over: false,
                }),
            ) => {
                return Flow::Park(Waiting::Entity {
                    entity,
                    states,
                    until,
                    seen,
                });
            }
            (EntityAnswer::NotYet { .. }, Some(_)) => {
                Ended::deadline("the entity reached none of the states in time")
            }
            (EntityAnswer::NotYet { .. }, None) => {
                refused("BAD_REQUEST", "nothing is waited for", false)
            }
            (EntityAnswer::Done { output }, _) => Ended::business("success", output),
            (EntityAnswer::Reached { state, output }, _) => {
                Ended::business(self.named_or(&state, "success"), output)
            }
            (
                EntityAnswer::Refused {
                    code,
                    message,
                    retryable,
                },
                _,
            ) => {
                let ended = refused(&code, &message, retryable);
                let outcome = code.to_ascii_lowercase();
                let outcome = self.named_or(&outcome, "failure").into();
                Ended { outcome, ..ended }
            }
        };
        self.resume();
        Flow::Go(Doing::Ended(self.completed_inside(ended)))
    }

    /// The outcome if the step has a transition for it.
    fn named_or<'a>(&self, outcome: &'a str, otherwise: &'a str) -> &'a str {
        let transitions = self.step().map(|step| &step.transitions);
        let mut named = transitions.into_iter().flatten();
        if named.any(|(name, _)| **name == *outcome) {
            outcome
        } else {
            otherwise
        }
    }

    /// Records the end of work that was done inside the turn.
    pub(super) fn completed_inside(&mut self, ended: Ended) -> Ended {
        self.push(EventKind::ActionCompleted, &ended.outcome);
        ended
    }
}

fn refused(code: &str, message: &str, retryable: bool) -> Ended {
    let output = serde_json::json!({"code": code, "message": message, "retryable": retryable});
    Ended::business("failure", output.to_string().into())
}
