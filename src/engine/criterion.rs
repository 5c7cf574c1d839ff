//! Criteria of workflows and of transitions, as far as they can be evaluated without a member.

use super::{
    Dispatch, Error, Run, Scope, World,
    record::{Considered, Entry},
    run::Cascade,
};
use crate::condition::{Condition, Function, FunctionResults, Trace, Verdict};
use crate::dispatch::{Callee, Target, TransitionContext};
use crate::id::{StateName, WorkflowName};
use crate::workflow::Transition;

/// The result of a criterion, as far as it is known.
pub(super) enum Considering {
    Done(Considered),
    Dispatch(Dispatch, u32),
    /// The criterion cannot be evaluated.
    Unknown(Error),
}

pub(super) fn consider(
    run: &Run,
    condition: &Condition,
    answers: &FunctionResults,
    world: World<'_>,
    name: &str,
    asker: impl FnOnce(&Function) -> Dispatch,
) -> Result<Considering, Error> {
    let mut trace = Trace::default();
    let facts = run.facts(world.schema, condition);
    let verdict = match world.meter {
        None => condition.evaluate(facts, answers, Some(&mut trace)),
        Some(meter) => condition
            .evaluate_within(facts, answers, Some(&mut trace), meter)
            .map_err(|halt| Error::Halted {
                of: name.to_owned(),
                halt,
            })?,
    };
    Ok(match verdict {
        Verdict::Asks(function) => match &function.unknown {
            Some(why) => Considering::Unknown(Error::UnknownCriterion {
                guarded: name.to_owned(),
                why: why.clone(),
            }),
            None => Considering::Dispatch(asker(function), function.index),
        },
        verdict @ (Verdict::Holds | Verdict::Fails) => {
            let held = matches!(verdict, Verdict::Holds);
            Considering::Done(Considered::new(name, held, trace, condition, answers))
        }
    })
}

pub(super) fn criterion_call(
    function: &Function,
    target: Target,
    workflow: &WorkflowName,
    transition_context: Option<TransitionContext>,
) -> Dispatch {
    Dispatch {
        callee: Callee::Criterion {
            name: function.name.clone(),
            target,
        },
        settings: function.call.clone(),
        workflow: workflow.clone(),
        transition_context,
        scope: Scope::Inside,
    }
}

/// The result of a transition's guard.
pub(super) enum Guard {
    Open,
    Closed(Option<Box<str>>),
    Dispatch(Dispatch, u32),
    Unknown(Error),
}

pub(super) fn guard_of(
    run: &mut Run,
    cascade: &Cascade,
    transition: &Transition,
    answers: &FunctionResults,
    world: World<'_>,
) -> Result<Guard, Error> {
    let Some(criterion) = &transition.criterion else {
        return Ok(Guard::Open);
    };
    let name = transition.name.as_str();
    let considering = consider(run, criterion, answers, world, name, |function| {
        let transition_context = transition_context(&run.state, transition);
        criterion_call(
            function,
            Target::Transition,
            &cascade.workflow.name,
            Some(transition_context),
        )
    })?;
    Ok(match considering {
        Considering::Dispatch(call, function) => Guard::Dispatch(call, function),
        Considering::Unknown(error) => Guard::Unknown(error),
        Considering::Done(considered) => {
            let held = considered.held;
            run.note(Entry::Considered(considered));
            if held {
                Guard::Open
            } else {
                let mut said = answers
                    .values()
                    .rev()
                    .filter(|evaluation| !evaluation.matches);
                Guard::Closed(said.find_map(|evaluation| evaluation.reason.clone()))
            }
        }
    })
}

pub(super) fn transition_context(from: &StateName, transition: &Transition) -> TransitionContext {
    TransitionContext {
        transition: transition.name.clone(),
        from: from.clone(),
        to: transition.next.clone(),
    }
}
