//! One decision.

use std::sync::Arc;

use super::{
    Call, Error, Fate, Input, Next, Run, RunsCall, Scope, Start, Step, Timer, TimerKind, World,
    absorb::absorb,
    arm::{arm, cancel_left_behind},
    record::{CallRecord, Considered, Entry, Reason, StartKind},
    run::{Asked, Cascade, Phase},
};
use crate::callout::{Callee, Target, TransitionContext};
use crate::condition::{Condition, Function, FunctionResults, Trace, Verdict};
use crate::id::{StateName, TransitionName, WorkflowName};
use crate::workflow::{Mode, Task, Transition, Workflow};

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
        (Phase::Choosing { at, told }, Input::Go) => choose(run, at, told, world, warnings),
        (
            Phase::Guarding {
                cascade,
                transition,
                told,
            },
            Input::Go,
        ) => guard(run, cascade, transition, told, world),
        (Phase::Cascading { cascade, at, told }, Input::Go) => {
            cascade_on(run, cascade, at, told, world)
        }
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
    call: Call,
    asked: Asked,
    phase: Phase,
) -> Result<Step, Error> {
    run.phase = Phase::Waiting {
        asked,
        phase: Box::new(phase),
    };
    Ok(Step {
        run,
        next: Next::Call(Box::new(call)),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a step answers")]
fn ask_of_runs(mut run: Box<Run>, call: RunsCall, phase: Phase) -> Result<Step, Error> {
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
                told: FunctionResults::new(),
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
                    told: FunctionResults::new(),
                },
            )
        }
        Start::Fired { kind, transition } => fire(run, kind, &transition, world),
        Start::Resumed(suspended) => {
            let phase = world
                .workflows
                .govern(Some(&suspended.workflow().into()), &run.state)
                .and_then(|workflow| Run::resume(&suspended, &run.state, workflow));
            match phase {
                Some(phase) => go(run, phase),
                None => drop_it(run),
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
            told: FunctionResults::new(),
        },
    )
}

fn drop_it(mut run: Box<Run>) -> Result<Step, Error> {
    run.fate = Fate::Dropped;
    settled(run)
}

/// The result of a criterion, as far as it is known.
enum Considering {
    Done(Considered),
    Ask(Call, u32),
    /// The criterion cannot be evaluated.
    Unknown(Error),
}

fn consider(
    run: &Run,
    condition: &Condition,
    told: &FunctionResults,
    world: World<'_>,
    name: &str,
    asker: impl FnOnce(&Function) -> Call,
) -> Result<Considering, Error> {
    let mut trace = Trace::default();
    let facts = run.facts(world.schema, condition);
    let verdict = match world.meter {
        None => condition.judge(facts, told, Some(&mut trace)),
        Some(meter) => condition
            .judge_within(facts, told, Some(&mut trace), meter)
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
            None => Considering::Ask(asker(function), function.index),
        },
        verdict @ (Verdict::Holds | Verdict::Fails) => {
            let held = matches!(verdict, Verdict::Holds);
            Considering::Done(Considered::new(name, held, trace, condition, told))
        }
    })
}

fn criterion_call(
    function: &Function,
    target: Target,
    workflow: &WorkflowName,
    transition_context: Option<TransitionContext>,
) -> Call {
    Call {
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

/// `workflow-engine.md` §7.1: the first active workflow whose criterion holds, else the built-in.
fn choose(
    mut run: Box<Run>,
    at: usize,
    told: FunctionResults,
    world: World<'_>,
    warnings: &mut Vec<String>,
) -> Result<Step, Error> {
    let Some(workflow) = world.workflows.active().nth(at) else {
        return fall_back(run, world, warnings);
    };
    let considered = match &workflow.criterion {
        None => None,
        Some(criterion) => {
            let considering =
                consider(&run, criterion, &told, world, workflow.name.as_str(), |f| {
                    criterion_call(f, Target::Workflow, &workflow.name, None)
                })?;
            match considering {
                Considering::Done(considered) => Some(considered),
                Considering::Unknown(error) => return Err(error),
                Considering::Ask(call, function) => {
                    let phase = Phase::Choosing { at, told };
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
                told: FunctionResults::new(),
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

/// The result of a transition's guard.
enum Guard {
    Open,
    Closed(Option<Box<str>>),
    Ask(Call, u32),
    Unknown(Error),
}

fn guard_of(
    run: &mut Run,
    cascade: &Cascade,
    transition: &Transition,
    told: &FunctionResults,
    world: World<'_>,
) -> Result<Guard, Error> {
    let Some(criterion) = &transition.criterion else {
        return Ok(Guard::Open);
    };
    let name = transition.name.as_str();
    let considering = consider(run, criterion, told, world, name, |function| {
        let transition_context = transition_context(&run.state, transition);
        criterion_call(
            function,
            Target::Transition,
            &cascade.workflow.name,
            Some(transition_context),
        )
    })?;
    Ok(match considering {
        Considering::Ask(call, function) => Guard::Ask(call, function),
        Considering::Unknown(error) => Guard::Unknown(error),
        Considering::Done(considered) => {
            let held = considered.held;
            run.note(Entry::Considered(considered));
            if held {
                Guard::Open
            } else {
                let mut said = told.values().rev().filter(|judgement| !judgement.matches);
                Guard::Closed(said.find_map(|judgement| judgement.reason.clone()))
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

/// The guard of a requested transition.
fn guard(
    mut run: Box<Run>,
    cascade: Cascade,
    transition: usize,
    told: FunctionResults,
    world: World<'_>,
) -> Result<Step, Error> {
    let workflow = Arc::clone(&cascade.workflow);
    let guarded = workflow
        .state(&run.state)
        .and_then(|state| state.transitions.get(transition))
        .ok_or(Error::Misfit("a transition that does not exist"))?;
    match guard_of(&mut run, &cascade, guarded, &told, world)? {
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
        Guard::Ask(call, function) => {
            let phase = Phase::Guarding {
                cascade,
                transition,
                told,
            };
            ask(run, call, Asked::Function(function), phase)
        }
        Guard::Unknown(error) => Err(error),
    }
}

/// Enters a state, within limits (`workflow-engine.md` §7.6).
fn enter(run: Box<Run>, mut cascade: Cascade, world: World<'_>) -> Result<Step, Error> {
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
            told: FunctionResults::new(),
        },
    )
}

/// Takes the first automated transition, starting with that number, whose guard holds.
fn cascade_on(
    mut run: Box<Run>,
    cascade: Cascade,
    at: usize,
    mut told: FunctionResults,
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
        match guard_of(&mut run, &cascade, transition, &told, world)? {
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
            Guard::Closed(_) => told.clear(),
            Guard::Unknown(error) => return Err(error),
            Guard::Ask(call, function) => {
                let phase = Phase::Cascading {
                    cascade,
                    at: index,
                    told,
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

/// Runs the next processor of a transition, or moves once all have run.
fn take(
    mut run: Box<Run>,
    cascade: Cascade,
    transition: usize,
    processor: usize,
    world: World<'_>,
) -> Result<Step, Error> {
    let workflow = Arc::clone(&cascade.workflow);
    let taken = workflow
        .state(&run.state)
        .and_then(|state| state.transitions.get(transition))
        .ok_or(Error::Misfit("a transition that does not exist"))?;
    let Some(next) = taken.processors.get(processor) else {
        let entry = Entry::Moved {
            transition: taken.name.to_string(),
            from: run.state.to_string(),
            to: taken.next.to_string(),
        };
        run.note(entry);
        run.state = taken.next.clone();
        return enter(run, cascade, world);
    };
    match &next.task {
        Task::Internalized => Err(Error::Internalized {
            processor: next.name.clone(),
        }),
        Task::Call { mode, call } => {
            let call = Call {
                callee: Callee::Processor(next.name.clone()),
                settings: call.clone(),
                workflow: cascade.workflow.name.clone(),
                transition_context: Some(transition_context(&run.state, taken)),
                scope: scope(*mode),
            };
            let phase = Phase::Taking {
                cascade,
                transition,
                processor,
            };
            ask(run, call, Asked::Processor, phase)
        }
        Task::OnRuns(task) => {
            let call = RunsCall {
                processor: next.name.clone(),
                task: Arc::clone(task),
                transition_context: transition_context(&run.state, taken),
            };
            let phase = Phase::Taking {
                cascade,
                transition,
                processor,
            };
            ask_of_runs(run, call, phase)
        }
        Task::Timer {
            transition: later,
            delay,
            timeout,
        } => {
            run.note(Entry::Called(CallRecord {
                name: next.name.to_string(),
                mode: Some(SCHEDULED.to_owned()),
                ..CallRecord::default()
            }));
            run.pending.push(Timer {
                kind: TimerKind::Processor,
                state: taken.next.clone(),
                transition: later.clone(),
                due: world.now.after(*delay),
                timeout: *timeout,
            });
            go(
                run,
                Phase::Taking {
                    cascade,
                    transition,
                    processor: processor + 1,
                },
            )
        }
    }
}

/// Recorded instead of an execution mode for a processor that arms a timer.
const SCHEDULED: &str = "SCHEDULED";

const fn scope(mode: Mode) -> Scope {
    match mode {
        Mode::Sync | Mode::AsyncSameTx => Scope::Inside,
        Mode::AsyncNewTx => Scope::Savepoint,
        Mode::CommitBeforeDispatch { joins } => Scope::Boundary { joins },
        Mode::Crossover { after } => Scope::Crossover { after },
    }
}
