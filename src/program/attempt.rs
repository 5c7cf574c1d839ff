//! A plan's pass: one executor after the other, until one succeeds (`orchestration.md` 1.7).

use std::sync::Arc;

use super::{
    arrival::{Ask, Availability, Chosen, Effect, Permit, Sample},
    executors::EXECUTORS_MAX,
    form::{Executor, FallbackOn, Kind, Name, Plan, Tracking},
    history::EventKind,
    input::Input,
    machine::{By, Doing, Ended, Flow, Machine, Output, failure_output},
    run::{Pass, Payload, Then},
    step::{SentInput, fail},
};
use crate::expr;

impl<'w> Machine<'w> {
    fn plan(&self) -> Option<&'w Plan> {
        let pass = self.run.pass.as_ref()?;
        self.world.program.plans.get(&pass.plan)
    }

    /// The executor at the place of the pass.
    fn executor(&self) -> Option<&'w Executor> {
        let pass = self.run.pass.as_ref()?;
        let name = pass.order.get(pass.at)?;
        let mut executors = self.plan()?.executors.iter();
        executors.find(|executor| executor.name == *name)
    }

    /// How the end of the attempt that is out becomes known; none outside of a plan.
    pub(super) fn tracking(&self) -> Option<&'w Tracking> {
        self.executor().map(|executor| &executor.tracking)
    }

    /// Whether the step does something about `pending`.
    pub(super) fn has_use_for_pending(&self) -> bool {
        self.step().is_some_and(|step| {
            let polls = matches!(&step.kind, Kind::Run { poll: Some(_), .. });
            polls
                || step
                    .transitions
                    .iter()
                    .any(|(name, _)| &**name == "pending")
        })
    }

    pub(super) fn begin_pass(
        &mut self,
        plan: Name,
        input: Input,
        cache_key: Option<Box<str>>,
        chosen: Chosen,
    ) -> Flow {
        let mut order = match chosen {
            Chosen::Cached { output } => {
                self.push(EventKind::PlanCacheHit, &plan);
                return Flow::Go(Doing::Ended(Ended::business("success", output)));
            }
            Chosen::Executors(order) => order,
        };
        order.truncate(EXECUTORS_MAX);
        let (input, fresh) = match input {
            Input::Whole => (Some(self.run.input.clone()), None),
            Input::Mapped(text) => (None, Some(text)),
        };
        self.run.pass = Some(Pass {
            plan,
            order,
            at: 0,
            attempts: 0,
            first: None,
            only_limited: true,
            input,
            cache_key,
            last: None,
            fresh,
        });
        Flow::Go(Doing::Attempt)
    }

    /// Tries the executor at the place of the pass, if there is one.
    pub(super) fn attempt(&mut self) -> Flow {
        let Some(pass) = self.run.pass.as_ref() else {
            return Flow::Stay;
        };
        if pass.at >= pass.order.len() {
            return self.exhausted();
        }
        let plan = pass.plan.clone();
        match self.executor() {
            // An order may name one that the form does not have.
            None => self.next_executor(),
            Some(executor) => {
                let executor = executor.name.clone();
                Flow::Ask(Ask::Permit { plan, executor }, Doing::Permitting)
            }
        }
    }

    pub(super) fn permitted(&mut self, permit: Permit) -> Flow {
        let now = self.world.now;
        let Some((executor, pass)) = self.executor().zip(self.run.pass.as_mut()) else {
            return Flow::Stay;
        };
        let (name, tried) = (executor.name.clone(), pass.attempts > 0);
        match permit {
            Permit::Granted => {
                pass.only_limited = false;
                pass.attempts += 1;
                pass.first.get_or_insert(now);
                if !tried {
                    self.push(EventKind::PlanExecutorStart, &name);
                }
                return Flow::Ask(
                    Ask::Action(executor.action.clone()),
                    Doing::AttemptingAction,
                );
            }
            Permit::Open => {
                pass.only_limited = false;
                self.push(EventKind::PlanBreakerSkip, &name);
            }
            Permit::Limited => {
                self.push(EventKind::PlanRateLimited, &name);
            }
        }
        if tried {
            return self.executor_exhausted(&name);
        }
        self.next_executor()
    }

    pub(super) fn attempt_action(&mut self, found: Availability) -> Flow {
        let Some((executor, pass)) = self.executor().zip(self.run.pass.as_mut()) else {
            return Flow::Stay;
        };
        let input = match (pass.fresh.take(), &pass.input) {
            (Some(text), _) => Some(SentInput::New(text)),
            (None, Some(payload)) => Some(SentInput::Kept(payload.clone())),
            (None, None) => None,
        };
        if found == Availability::Here {
            return self.call_here(&executor.action, input);
        }
        match self.available(&executor.action, found) {
            Err(ended) => {
                // The input is not stored yet; the next executor takes it.
                if let (Some(SentInput::New(text)), Some(pass)) = (input, self.run.pass.as_mut()) {
                    pass.fresh = Some(text);
                }
                Flow::Go(Doing::Ended(ended))
            }
            Ok(timeout) => {
                let is_new = matches!(input, Some(SentInput::New(_)));
                let flow = self.send(&executor.action, input, timeout);
                if is_new && let Some(pass) = self.run.pass.as_mut() {
                    pass.input = Some(Payload::At(self.run.sequence));
                }
                flow
            }
        }
    }

    /// An attempt has ended: the pass ends with it, repeats it or goes to the next executor.
    pub(super) fn attempt_ended(&mut self, ended: Ended) -> Flow {
        let Some((executor, pass)) = self.executor().zip(self.run.pass.as_ref()) else {
            self.run.pass = None;
            return Flow::Go(Doing::Ended(ended));
        };
        let (plan, attempts, first) = (pass.plan.clone(), pass.attempts, pass.first);
        let sample = sample(&ended);
        self.effects.push(Effect::Record {
            plan: plan.clone(),
            executor: executor.name.clone(),
            sample,
        });
        match sample {
            Sample::Success => {
                self.push(EventKind::PlanExecutorSuccess, &executor.name);
                let key = self.run.pass.take().and_then(|pass| pass.cache_key);
                if let (Some(key), Output::Text(output)) = (key, &ended.output) {
                    let output = Arc::clone(output);
                    self.effects.push(Effect::Keep { plan, key, output });
                }
                return Flow::Go(Doing::Ended(ended));
            }
            Sample::Other => {
                self.run.pass = None;
                return Flow::Go(Doing::Ended(ended));
            }
            Sample::Failure | Sample::NoAnswer => {}
        }
        let may_repeat = !ended.outcome.starts_with("target_") && !self.is_fatal(&ended.output);
        let elapsed = self.world.now.since(first.unwrap_or(self.world.now));
        let retry = executor.retry.as_ref().filter(|_| may_repeat);
        let delay = retry.and_then(|retry| retry.next(attempts, elapsed, self.world.chance));
        self.keep_last(ended.output.clone());
        self.keep_reason(&ended.output);
        match delay {
            Some(delay) => self.later(delay, Then::Attempt),
            None => self.executor_exhausted(&executor.name),
        }
    }

    /// Keeps the output of a failed attempt with the event that follows it.
    fn keep_last(&mut self, output: Output) {
        let payload = match output {
            Output::Kept(payload) => payload,
            Output::Text(text) => match self.run.payload(&text, 0) {
                Payload::Inline(text) => Payload::Inline(text),
                Payload::At(_) => self.keep_with_last_event(text),
            },
        };
        if let Some(pass) = self.run.pass.as_mut() {
            pass.last = Some(payload);
        }
    }

    /// The last event of an attempt is that of its end, which has no other value.
    fn keep_with_last_event(&mut self, text: Arc<str>) -> Payload {
        match self.history.last_mut() {
            Some(event) if event.data.is_none() => {
                self.run.history_bytes += text.len() as u64;
                // The end of the pass reads why it failed.
                self.run.loaded.insert(event.sequence, Arc::clone(&text));
                event.data = Some(text);
                Payload::At(event.sequence)
            }
            // Its value is the input of the pass.
            _ => Payload::Inline(text.as_ref().into()),
        }
    }

    pub(super) fn retry_attempt(&mut self) -> Flow {
        if let Some(executor) = self.executor() {
            self.push(EventKind::PlanExecutorRetry, &executor.name);
        }
        match self.count_attempt() {
            Ok(()) => Flow::Go(Doing::Attempt),
            Err(bound) => {
                self.run.pass = None;
                fail(bound)
            }
        }
    }

    fn executor_exhausted(&mut self, name: &str) -> Flow {
        self.push(EventKind::PlanExecutorExhausted, name);
        let fallback = self.plan().and_then(|plan| plan.fallback.as_ref());
        match fallback {
            Some(fallback) if fallback.on == FallbackOn::AnyError => self.exhausted(),
            Some(_) | None => self.next_executor(),
        }
    }

    fn next_executor(&mut self) -> Flow {
        if let Some(pass) = self.run.pass.as_mut() {
            pass.at += 1;
            pass.attempts = 0;
            pass.first = None;
        }
        Flow::Go(Doing::Attempt)
    }

    /// No executor is tried any more.
    fn exhausted(&mut self) -> Flow {
        let fallback = self.plan().and_then(|plan| plan.fallback.as_ref());
        let Some(pass) = self.run.pass.take() else {
            return Flow::Stay;
        };
        if let Some(fallback) = fallback {
            self.push(EventKind::PlanFallbackUsed, &pass.plan);
            let output = fallback.value.as_ref().into();
            return Flow::Go(Doing::Ended(Ended::business("success", output)));
        }
        let output = match pass.last {
            Some(payload) => Output::Kept(payload),
            None if pass.only_limited && !pass.order.is_empty() => Output::Text(failure_output(
                "rate_limited",
                "every executor is at its rate limit",
            )),
            None => Output::Text(failure_output(
                "COMPUTE_MEMBER_UNAVAILABLE",
                "no executor could be tried",
            )),
        };
        Flow::Go(Doing::Ended(Ended {
            outcome: "failure".into(),
            by: By::Callee,
            output,
        }))
    }

    fn is_fatal(&self, output: &Output) -> bool {
        let text = match output {
            Output::Text(text) => text,
            Output::Kept(_) => return false,
        };
        let fatal = self.plan().map_or(&[][..], |plan| &plan.errors.fatal);
        !fatal.is_empty() && error_code(text).is_some_and(|code| fatal.contains(&code.into()))
    }
}

fn sample(ended: &Ended) -> Sample {
    match (ended.by, &*ended.outcome) {
        (By::Engine | By::Deadline, _) => Sample::NoAnswer,
        (By::Callee, "success") => Sample::Success,
        (By::Callee, "failure" | "timeout") => Sample::Failure,
        (By::Callee, _) => Sample::Other,
    }
}

/// The code of a failure: `error_code`, else `code`, else `error.code`, else the text of `error`.
fn error_code(output: &str) -> Option<String> {
    let members = expr::members(output)?;
    let text = |name: &str| expr::string(members.get(name)?.get());
    let inner = || {
        let error = expr::members(members.get("error")?.get())?;
        expr::string(error.get("code")?.get())
    };
    text("error_code")
        .or_else(|| text("code"))
        .or_else(inner)
        .or_else(|| text("error"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_failure_is_found_where_actions_put_it() {
        for (output, expected) in [
            (r#"{"error_code":"a","code":"b"}"#, Some("a")),
            (r#"{"code":"b","error":{"code":"c"}}"#, Some("b")),
            (r#"{"code":7,"error":{"code":"c"}}"#, Some("c")),
            (r#"{"error":"d"}"#, Some("d")),
            ("{}", None),
            ("[]", None),
            ("\"x\"", None),
        ] {
            assert_eq!(error_code(output).as_deref(), expected, "{output}");
        }
    }
}
