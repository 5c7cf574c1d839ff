//! The processors of a transition, and the move that follows them.

use std::sync::Arc;

use super::{
    Dispatch, Error, Run, RunsCall, Scope, Step, Timer, TimerKind, World,
    criterion::transition_context,
    record::{DispatchRecord, Entry},
    run::{Asked, Cascade, Phase},
    step::{ask, ask_of_runs, enter, go},
};
use crate::dispatch::Callee;
use crate::workflow::{Mode, Task};

/// Runs the next processor of a transition, or moves once all have run.
pub(super) fn take(
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
        if run.state != taken.next {
            run.leave_state();
            run.state = taken.next.clone();
        }
        return enter(run, cascade, world);
    };
    match &next.task {
        Task::Internalized => Err(Error::Internalized {
            processor: next.name.clone(),
        }),
        Task::Call { mode, call } => {
            let call = Dispatch {
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
            let record = DispatchRecord {
                name: next.name.to_string(),
                mode: Some(SCHEDULED.to_owned()),
                ..DispatchRecord::default()
            };
            run.note_call(record, world.now);
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
