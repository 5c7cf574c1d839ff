//! The responses of members, and how the run continues with them.

use std::sync::Arc;

use super::{
    Answered, DispatchError, Error, Run, Step, World,
    arm::plan_timer,
    run::{Asked, Phase},
    step::go,
    timer::plan,
};
use crate::condition::Condition;
use crate::dispatch::{Callee, Reply, Target};
use crate::workflow::{Mode, Processor, Schedule, Task, Timing, Transition};

/// Applies a member's response, and continues with what it was needed for.
pub(super) fn absorb(
    mut run: Box<Run>,
    asked: Asked,
    mut phase: Phase,
    answered: Answered,
    world: World<'_>,
    warnings: &mut Vec<String>,
) -> Result<Step, Error> {
    let callee = asked_of(&run, asked, &phase, world)?;
    let Answered { result, mut record } = answered;
    let mode = callee.mode.map(Mode::as_str).or(callee.on_runs);
    record.mode = mode.map(ToOwned::to_owned);
    let said = match &result {
        Ok(answer) => &answer.warnings[..],
        Err(DispatchError::Rejected { warnings, .. }) => warnings,
        // Those of earlier attempts.
        Err(_) => &record.warnings,
    };
    let (kind, name) = (callee.callee.kind(), callee.callee.name());
    warnings.extend(said.iter().map(|text| format!("{kind} {name}: {text}")));
    let answer = match result {
        Ok(answer) => answer,
        Err(error) if matches!(callee.mode, Some(Mode::AsyncNewTx)) => {
            // Its failure is reported and changes nothing (`workflow-engine.md` §6.2).
            let failure = Error::of_call(&callee.callee, error).as_warning(&callee.callee);
            warnings.push(failure.clone());
            record.failure = Some(failure);
            run.note_call(record, world.now);
            return next_processor(run, phase);
        }
        Err(error) => {
            let after_commit = matches!(
                callee.mode,
                Some(Mode::CommitBeforeDispatch { .. } | Mode::Crossover { .. })
            );
            return Err(
                Error::of_call(&callee.callee, error).in_scope(&callee.callee, after_commit)
            );
        }
    };
    run.note_call(record, world.now);
    match (asked, answer.reply, &mut phase) {
        (Asked::Processor, Reply::Processed(document), _) => {
            if let Some(document) = document {
                run.document = document;
            }
            next_processor(run, phase)
        }
        (
            Asked::Function(leaf),
            Reply::Evaluated(evaluation),
            Phase::Choosing { answers, .. }
            | Phase::Guarding { answers, .. }
            | Phase::Cascading { answers, .. },
        ) => {
            answers.insert(leaf, evaluation);
            go(run, phase)
        }
        (Asked::Schedule, reply, Phase::Arming { workflow, at }) => {
            let Callee::Schedule(function) = &callee.callee else {
                return Err(Error::Misfit("a schedule of something else"));
            };
            let planned = plan(function, &reply, world.now)?;
            let (workflow, at) = (Arc::clone(workflow), *at);
            plan_timer(&mut run, &workflow, at, planned)?;
            go(
                run,
                Phase::Arming {
                    workflow,
                    at: at + 1,
                },
            )
        }
        _ => Err(Error::Misfit("a response to another call")),
    }
}

/// The callee of the response.
struct AskedOf {
    callee: Callee,
    /// For a processor that calls a member.
    mode: Option<Mode>,
    /// For a processor that starts or signals runs.
    on_runs: Option<&'static str>,
}

fn asked_of(run: &Run, asked: Asked, phase: &Phase, world: World<'_>) -> Result<AskedOf, Error> {
    let misfit = Error::Misfit("a response to a call that does not exist");
    match (asked, phase) {
        (
            Asked::Processor,
            Phase::Taking {
                cascade,
                transition,
                processor,
            },
        ) => {
            let Some(Processor { name, task }) = cascade
                .transition(&run.state, *transition)
                .and_then(|transition| transition.processors.get(*processor))
            else {
                return Err(misfit);
            };
            let (mode, on_runs) = match task {
                Task::Call { mode, .. } => (Some(*mode), None),
                Task::OnRuns(on_runs) => (None, Some(on_runs.mode())),
                Task::Internalized | Task::Timer { .. } => return Err(misfit),
            };
            Ok(AskedOf {
                callee: Callee::Processor(name.clone()),
                mode,
                on_runs,
            })
        }
        (Asked::Schedule, Phase::Arming { workflow, at }) => {
            let schedule = workflow
                .state(&run.state)
                .and_then(|state| state.transitions.get(*at))
                .and_then(Transition::schedule);
            let Some(Schedule {
                timing: Timing::Asked { function, .. },
                ..
            }) = schedule
            else {
                return Err(misfit);
            };
            Ok(AskedOf {
                callee: Callee::Schedule(function.clone()),
                mode: None,
                on_runs: None,
            })
        }
        (Asked::Function(leaf), phase) => {
            let function = criterion_of(run, phase, world)
                .and_then(|(criterion, target)| Some((criterion.function(leaf)?, target)));
            let (function, target) = function.ok_or(misfit)?;
            Ok(AskedOf {
                callee: Callee::Criterion {
                    name: function.name.clone(),
                    target,
                },
                mode: None,
                on_runs: None,
            })
        }
        (Asked::Processor | Asked::Schedule, _) => Err(misfit),
    }
}

/// The criterion that is being evaluated.
fn criterion_of<'a>(
    run: &Run,
    phase: &'a Phase,
    world: World<'a>,
) -> Option<(&'a Condition, Target)> {
    let (cascade, transition) = match phase {
        Phase::Choosing { at, .. } => {
            let workflow = world.workflows.active().nth(*at)?;
            return Some((workflow.criterion.as_ref()?, Target::Workflow));
        }
        Phase::Guarding {
            cascade,
            transition,
            ..
        } => (cascade, *transition),
        Phase::Cascading { cascade, at, .. } => (cascade, *at),
        Phase::Starting(_)
        | Phase::Taking { .. }
        | Phase::Arming { .. }
        | Phase::Waiting { .. }
        | Phase::Settled => return None,
    };
    let transition = cascade.transition(&run.state, transition)?;
    Some((transition.criterion.as_ref()?, Target::Transition))
}

fn next_processor(run: Box<Run>, phase: Phase) -> Result<Step, Error> {
    let Phase::Taking {
        cascade,
        transition,
        processor,
    } = phase
    else {
        return Err(Error::Misfit("a processor that does not exist"));
    };
    go(
        run,
        Phase::Taking {
            cascade,
            transition,
            processor: processor + 1,
        },
    )
}
