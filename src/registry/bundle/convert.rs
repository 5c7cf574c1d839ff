//! Sagas of files as programs.

use crate::dialect::saga::{Call, Saga, Step};
use crate::program::{self, Pause, Program, SagaStep};

/// The program of a saga, whose connectors are those of that digest.
pub(super) fn program(saga: &Saga, version: u64, digest: &str) -> Program {
    let form = program::Saga {
        bundle: digest.into(),
        order: saga.steps.iter().map(|step| (*step.name).into()).collect(),
        timeout: saga.timeout,
        on_complete: saga.on_complete.as_ref().map(call),
        on_failure: saga.on_failure.as_ref().map(call),
    };
    let steps = saga.steps.iter().map(step);
    Program::of_saga(&saga.name, &version.to_string(), form, steps)
}

fn step(step: &Step) -> SagaStep {
    let signal = |event: &String| Pause::Signal {
        event: (**event).into(),
        timeout: step.timeout,
    };
    let pause = step
        .delay
        .map(Pause::Delay)
        .or_else(|| step.awaits.as_ref().map(signal));
    SagaStep {
        // The time limit of a step that waits is that of its wait.
        timeout: step.timeout.filter(|_| step.awaits.is_none()),
        pause,
        call: step.action.as_ref().map(call),
        undo: step.undo.as_ref().map(call),
        skips_failure: step.skips_failure,
    }
}

pub(super) fn call(call: &Call) -> program::Call {
    program::Call {
        connector: (*call.connector).into(),
        request: call.request.clone(),
    }
}
