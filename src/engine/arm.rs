//! Timers of the state where a run ends, and of those it has left.

use std::sync::Arc;

use super::{
    Dispatch, Error, Run, Scope, Step, Timer, TimerChange, TimerKind, World,
    criterion::transition_context,
    record::Entry,
    run::{Asked, Phase},
    step::{ask, settled},
    timer::Plan,
};
use crate::dispatch::Callee;
use crate::workflow::{Schedule, Timing, Workflow};

/// `workflow-engine.md` §9.3: timers of states the entity has left are cancelled. If it has come
/// back, those of transitions are armed again, and those of processors are not (§9.6).
pub(super) fn cancel_left_behind(run: &mut Run) {
    for armed in std::mem::take(&mut run.armed) {
        let was_left = armed.kind == TimerKind::Processor && run.left.contains(&armed.state);
        if armed.state == run.state && !was_left {
            run.armed.push(armed);
            continue;
        }
        run.note(Entry::Cancelled {
            transition: armed.transition.to_string(),
            state: armed.state.to_string(),
        });
        run.timers.push(TimerChange::Cancel {
            kind: armed.kind,
            transition: armed.transition,
        });
    }
}

/// Arms the timers of the state where the run ends.
pub(super) fn arm(
    mut run: Box<Run>,
    workflow: &Arc<Workflow>,
    at: usize,
    world: World<'_>,
) -> Result<Step, Error> {
    let transitions = workflow
        .state(&run.state)
        .map_or(&[][..], |state| &state.transitions);
    for (index, transition) in transitions.iter().enumerate().skip(at) {
        match transition.schedule() {
            None => {}
            Some(Schedule {
                timing: Timing::After(delay),
                timeout,
            }) => {
                let planned = Plan::Due {
                    at: world.now.after(*delay),
                    timeout: *timeout,
                };
                plan_timer(&mut run, workflow, index, planned)?;
            }
            Some(Schedule {
                timing: Timing::Asked { function, call },
                ..
            }) => {
                let call = Dispatch {
                    callee: Callee::Schedule(function.clone()),
                    settings: call.clone(),
                    workflow: workflow.name.clone(),
                    transition_context: Some(transition_context(&run.state, transition)),
                    scope: Scope::Inside,
                };
                let phase = Phase::Arming {
                    workflow: Arc::clone(workflow),
                    at: index,
                };
                return ask(run, call, Asked::Schedule, phase);
            }
        }
    }
    for timer in std::mem::take(&mut run.pending) {
        if timer.state == run.state {
            arm_one(&mut run, timer);
        }
    }
    settled(run)
}

pub(super) fn plan_timer(
    run: &mut Run,
    workflow: &Workflow,
    at: usize,
    planned: Plan,
) -> Result<(), Error> {
    let transition = workflow
        .state(&run.state)
        .and_then(|state| state.transitions.get(at))
        .ok_or(Error::Misfit("a transition that does not exist"))?;
    match planned {
        Plan::Due { at, timeout } => arm_one(
            run,
            Timer {
                kind: TimerKind::Transition,
                state: run.state.clone(),
                transition: transition.name.clone(),
                due: at,
                timeout,
            },
        ),
        Plan::BornExpired => {
            run.note(Entry::Expired {
                transition: transition.name.to_string(),
                state: run.state.to_string(),
            });
            run.timers.push(TimerChange::Cancel {
                kind: TimerKind::Transition,
                transition: transition.name.clone(),
            });
        }
    }
    Ok(())
}

fn arm_one(run: &mut Run, timer: Timer) {
    run.note(Entry::Armed {
        transition: timer.transition.to_string(),
        state: timer.state.to_string(),
        due: timer.due.micros(),
    });
    run.timers.push(TimerChange::Arm(timer));
}
