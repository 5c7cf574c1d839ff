//! One decision.

use std::sync::Arc;

use super::{
    Dispatch, Error, Fate, Input, Next, Run, RunsCall, Start, Step, TimerKind, World,
    absorb::absorb,
    arm::{arm, cancel_left_behind},
    criterion::{Considering, Guard, consider, criterion_call, guard_of},
    record::{Entry, Reason, StartKind},
    run::{Asked, Cascade, Phase},
    take::take,
};
use crate::condition::FunctionResults;
use crate::dispatch::Target;
use crate::id::TransitionName;
use crate::workflow::{Transition, Workflow};

/// Advances `run` by one `input`. Warnings are added to `warnings`, also if the step fails.
pub fn step(
    mut run: Box<Run>,
    input: Input,
    world: World<'_>,
    warnings: &mut Vec<String>,
) -> Result<Step, Error> {
    let phase = std::mem::replace(&mut run.phase, Phase::Settled);
    if world.now.since(run.began) > world.limits.time {
        return Err(Error::TooLong {
            limit: world.limits.time,
        });
    }
    match (phase, input) {
        (Phase::Starting(start), Input::Go) => begin(run, start, world),
        (Phase::Choosing { at, answers }, Input::Go) => choose(run, at, answers, world, warnings),
        (
            Phase::Guarding {
                cascade,
                transition,
                answers,
            },
            Input::Go,
        ) => guard(run, cascade, transition, answers, world),
        (
            Phase::Cascading {
                cascade,
                at,
                answers,
            },
            Input::Go,
        ) => cascade_on(run, cascade, at, answers, world),
        (
            Phase::Taking {
                cascade,
                transition,
                processor,
            },
            Input::Go,
        ) => take(run, cascade, transition, processor, world),
        (Phase::Arming { workflow, at }, Input::Go) => arm(run, &workflow, at, world),
        (Phase::Waiting { asked, phase }, Input::Answered(answered)) => {
            absorb(run, asked, *phase, *answered, world, warnings)
        }
        (Phase::Settled, Input::Go) => settled(run),
        (Phase::Waiting { .. }, Input::Go) => Err(Error::Misfit("no response to a call in flight")),
        (
            Phase::Starting(_)
            | Phase::Choosing { .. }
            | Phase::Guarding { .. }
            | Phase::Cascading { .. }
            | Phase::Taking { .. }
            | Phase::Arming { .. }
            | Phase::Settled,
            Input::Answered(_),
        ) => Err(Error::Misfit("a response without a call")),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a step answers")]
pub(super) fn go(mut run: Box<Run>, phase: Phase) -> Result<Step, Error> {
    run.phase = phase;
    Ok(Step {
        run,
        next: Next::Go,
    })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a step answers")]
pub(super) fn ask(
    mut run: Box<Run>,
    call: Dispatch,
    asked: Asked,
    phase: Phase,
) -> Result<Step, Error> {
    run.phase = Phase::Waiting {
        asked,
        phase: Box::new(phase),
    };
    Ok(Step {
        run,
        next: Next::Dispatch(Box::new(call)),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a step answers")]
pub(super) fn ask_of_runs(mut run: Box<Run>, call: RunsCall, phase: Phase) -> Result<Step, Error> {
    run.phase = Phase::Waiting {
        asked: Asked::Processor,
        phase: Box::new(phase),
    };
    Ok(Step {
        run,
        next: Next::OnRuns(Box::new(call)),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a step answers")]
pub(super) fn settled(mut run: Box<Run>) -> Result<Step, Error> {
    run.phase = Phase::Settled;
    Ok(Step {
        run,
        next: Next::Settled,
    })
}

fn begin(mut run: Box<Run>, start: Start, world: World<'_>) -> Result<Step, Error> {
    match start {
        Start::Create => go(
            run,
            Phase::Choosing {
                at: 0,
                answers: FunctionResults::new(),
            },
        ),
        Start::Loopback => match govern(&mut run, world) {
            Some(workflow) => enter(run, Cascade::new(workflow), world),
            None => settled(run),
        },
        Start::Named(name) => {
            let workflow =
                govern(&mut run, world).ok_or_else(|| Error::NoWorkflow(run.state.clone()))?;
            let transition = named(&run, &workflow, &name)?;
            go(
                run,
                Phase::Guarding {
                    cascade: Cascade::new(workflow),
                    transition,
                    answers: FunctionResults::new(),
                },
            )
        }
        Start::Fired { kind, transition } => fire(run, kind, &transition, world),
        Start::Resumed(suspended) => {
            let workflow = world
                .workflows
                .govern(Some(&suspended.workflow().into()), &run.state);
            let phase = workflow
                .clone()
                .and_then(|workflow| Run::resume(&suspended, &run.state, workflow));
            match workflow.zip(phase) {
                Some((workflow, phase)) => {
                    note_chosen(&mut run, &workflow, Reason::HasState);
                    go(run, phase)
                }
                None => Err(Error::NotResumable {
                    transition: suspended.transition().into(),
                    state: run.state,
                }),
            }
        }
        Start::GivenUp(suspended) => {
            run.fate = Fate::Rested;
            let workflow = Some(suspended.workflow().into());
            match world.workflows.govern(workflow.as_ref(), &run.state) {
                Some(workflow) => {
                    cancel_left_behind(&mut run);
                    go(run, Phase::Arming { workflow, at: 0 })
                }
                None => settled(run),
            }
        }
    }
}

/// `workflow-engine.md` §9.4: the definition may no longer contain the due transition.
fn fire(
    mut run: Box<Run>,
    kind: TimerKind,
    name: &TransitionName,
    world: World<'_>,
) -> Result<Step, Error> {
    let Some(workflow) = world.workflows.govern(run.chosen.as_ref(), &run.state) else {
        return drop_it(run);
    };
    let is_due = |transition: &Transition| match kind {
        TimerKind::Transition => transition.schedule().is_some(),
        TimerKind::Processor => !transition.is_disabled(),
    };
    let due = workflow.state(&run.state).and_then(|state| {
        state
            .transitions
            .iter()
            .position(|transition| transition.name == *name && is_due(transition))
    });
    let Some(transition) = due else {
        return drop_it(run);
    };
    note_chosen(&mut run, &workflow, Reason::HasState);
    go(
        run,
        Phase::Guarding {
            cascade: Cascade::new(workflow),
            transition,
            answers: FunctionResults::new(),
        },
    )
}

fn drop_it(mut run: Box<Run>) -> Result<Step, Error> {
    run.fate = Fate::Dropped;
    settled(run)
}

/// `workflow-engine.md` §7.1: the first active workflow whose criterion holds, else the built-in.
fn choose(
    mut run: Box<Run>,
    at: usize,
    answers: FunctionResults,
    world: World<'_>,
    warnings: &mut Vec<String>,
) -> Result<Step, Error> {
    let Some(workflow) = world.workflows.active().nth(at) else {
        return fall_back(run, world, warnings);
    };
    let considered = match &workflow.criterion {
        None => None,
        Some(criterion) => {
            let considering = consider(
                &run,
                criterion,
                &answers,
                world,
                workflow.name.as_str(),
                |f| criterion_call(f, Target::Workflow, &workflow.name, None),
            )?;
            match considering {
                Considering::Done(considered) => Some(considered),
                Considering::Unknown(error) => return Err(error),
                Considering::Dispatch(call, function) => {
                    let phase = Phase::Choosing { at, answers };
                    return ask(run, call, Asked::Function(function), phase);
                }
            }
        }
    };
    match considered {
        Some(considered) if !considered.held => {
            run.note(Entry::Skipped(considered));
            let phase = Phase::Choosing {
                at: at + 1,
                answers: FunctionResults::new(),
            };
            go(run, phase)
        }
        considered => {
            let leaves = considered.map_or_else(Vec::new, |considered| considered.leaves);
            run.chosen = Some(workflow.name.clone());
            note_chosen(&mut run, workflow, Reason::Matched(leaves));
            run.state = workflow.initial.clone();
            enter(run, Cascade::new(Arc::clone(workflow)), world)
        }
    }
}

/// The built-in workflow governs entities that no imported workflow matches.
fn fall_back(
    mut run: Box<Run>,
    world: World<'_>,
    warnings: &mut Vec<String>,
) -> Result<Step, Error> {
    let model = &run.subject.model;
    let (warning, why) = if world.workflows.entries.is_empty() {
        (
            format!("no workflows imported for model {model}; the built-in one is used"),
            Reason::NoneImported,
        )
    } else {
        (
            format!(
                "no imported workflow matched entity {}; the built-in one is used",
                run.subject.id
            ),
            Reason::NoneMatched,
        )
    };
    warnings.push(warning);
    let workflow = Workflow::built_in();
    note_chosen(&mut run, &workflow, why);
    run.state = workflow.initial.clone();
    enter(run, Cascade::new(workflow), world)
}

fn govern(run: &mut Run, world: World<'_>) -> Option<Arc<Workflow>> {
    let workflow = world.workflows.govern(run.chosen.as_ref(), &run.state);
    match &workflow {
        Some(workflow) => note_chosen(run, workflow, Reason::HasState),
        None => run.note(Entry::Ungoverned {
            state: run.state.to_string(),
        }),
    }
    workflow
}

fn note_chosen(run: &mut Run, workflow: &Workflow, why: Reason) {
    run.note(Entry::Chosen {
        workflow: workflow.name.to_string(),
        hash: workflow.definition.hash.to_string(),
        why,
    });
}

/// `workflow-engine.md` §7.5: resolves a transition's name in the current state.
fn named(run: &Run, workflow: &Workflow, name: &TransitionName) -> Result<usize, Error> {
    let transitions = workflow
        .state(&run.state)
        .map_or(&[][..], |state| &state.transitions);
    let known = || {
        transitions
            .iter()
            .filter(|transition| !transition.is_disabled() && transition.schedule().is_none())
            .map(|transition| transition.name.clone())
            .collect()
    };
    let fault = |why| Error::TransitionNotFound {
        transition: name.clone(),
        state: run.state.clone(),
        why,
        known: known(),
    };
    let found = transitions
        .iter()
        .position(|transition| transition.name == *name);
    match found {
        Some(index) if transitions[index].is_disabled() => Err(fault("is disabled")),
        Some(index) if transitions[index].schedule().is_some() => Err(Error::TransitionScheduled {
            transition: name.clone(),
            state: run.state.clone(),
            known: known(),
        }),
        Some(index) => Ok(index),
        None => Err(fault("is not defined")),
    }
}

/// The guard of a requested transition.
fn guard(
    mut run: Box<Run>,
    cascade: Cascade,
    transition: usize,
    answers: FunctionResults,
    world: World<'_>,
) -> Result<Step, Error> {
    let workflow = Arc::clone(&cascade.workflow);
    let guarded = workflow
        .state(&run.state)
        .and_then(|state| state.transitions.get(transition))
        .ok_or(Error::Misfit("a transition that does not exist"))?;
    match guard_of(&mut run, &cascade, guarded, &answers, world)? {
        Guard::Open => {
            if run.record.start == StartKind::Timer {
                run.note(Entry::Fired {
                    transition: guarded.name.to_string(),
                });
            }
            go(
                run,
                Phase::Taking {
                    cascade,
                    transition,
                    processor: 0,
                },
            )
        }
        Guard::Closed(_) if run.record.start == StartKind::Timer => {
            let state = run.state.to_string();
            run.note(Entry::Declined {
                transition: guarded.name.to_string(),
                state,
            });
            run.fate = Fate::Declined;
            settled(run)
        }
        Guard::Closed(reason) => Err(Error::NotMatched {
            transition: guarded.name.clone(),
            reason,
        }),
        Guard::Dispatch(call, function) => {
            let phase = Phase::Guarding {
                cascade,
                transition,
                answers,
            };
            ask(run, call, Asked::Function(function), phase)
        }
        Guard::Unknown(error) => Err(error),
    }
}

/// Enters a state, within limits (`workflow-engine.md` §7.6).
pub(super) fn enter(run: Box<Run>, mut cascade: Cascade, world: World<'_>) -> Result<Step, Error> {
    if cascade.steps == world.limits.depth {
        return Err(Error::TooDeep {
            state: run.state,
            limit: world.limits.depth,
        });
    }
    cascade.steps += 1;
    let visits = cascade.visits.entry(run.state.clone()).or_default();
    *visits += 1;
    if *visits > world.limits.state_visits {
        return Err(Error::TooManyVisits {
            state: run.state,
            visits: *visits,
            limit: world.limits.state_visits,
        });
    }
    go(
        run,
        Phase::Cascading {
            cascade,
            at: 0,
            answers: FunctionResults::new(),
        },
    )
}

/// Takes the first automated transition, starting with that number, whose guard holds.
fn cascade_on(
    mut run: Box<Run>,
    cascade: Cascade,
    at: usize,
    mut answers: FunctionResults,
    world: World<'_>,
) -> Result<Step, Error> {
    let workflow = Arc::clone(&cascade.workflow);
    let transitions = workflow
        .state(&run.state)
        .map_or(&[][..], |state| &state.transitions);
    for (index, transition) in transitions.iter().enumerate().skip(at) {
        if !transition.is_automated() {
            continue;
        }
        match guard_of(&mut run, &cascade, transition, &answers, world)? {
            Guard::Open => {
                return go(
                    run,
                    Phase::Taking {
                        cascade,
                        transition: index,
                        processor: 0,
                    },
                );
            }
            Guard::Closed(_) => answers.clear(),
            Guard::Unknown(error) => return Err(error),
            Guard::Dispatch(call, function) => {
                let phase = Phase::Cascading {
                    cascade,
                    at: index,
                    answers,
                };
                return ask(run, call, Asked::Function(function), phase);
            }
        }
    }
    let state = run.state.to_string();
    run.note(Entry::Settled { state });
    cancel_left_behind(&mut run);
    go(run, Phase::Arming { workflow, at: 0 })
}
