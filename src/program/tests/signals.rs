//! Signals and waits (1.8).
#![cfg(test)]

use super::checks::check;
use super::driven::{Do, Driven, flow};
use crate::program::*;

#[test]
fn a_signal_is_kept_and_each_satisfies_one_wait_oldest_first() {
    let wait = "{waitForSignal: {type: go, timeoutMs: 1000}, transitions: {success: ";
    let document = flow(
        "{run: \"@actions/a\", transitions: {success: one}}",
        &format!(
            "steps:\n  one: {wait}two}}}}\n  two: {wait}three}}}}\n  three: {wait}flo.Completed}}}}\noutput: {{one: $.steps.one.output, two: $.steps.two.output, three: $.steps.three.output}}"
        ),
    );
    let driven = check(
        "signals",
        &document,
        &[
            Do::Signal("go", "1"),
            Do::Signal("other", "0"),
            Do::Signal("go", "2"),
            Do::Answer("success", "{}"),
            Do::Signal("go", "3"),
        ],
        Status::Completed,
        &[
            "step_started start",
            "awaiting_action a",
            "signal_received go",
            "signal_received other",
            "signal_received go",
            "action_completed success",
            "step_completed start",
            "step_started one",
            "signal_matched go",
            "step_completed one",
            "step_started two",
            "signal_matched go",
            "step_completed two",
            "step_started three",
            "waiting_for_signal go",
            "signal_received go",
            "signal_matched go",
            "step_completed three",
            "workflow_completed flo.Completed",
        ],
    );
    assert_eq!(
        driven.output().as_deref(),
        Some(r#"{"one":1,"two":2,"three":3}"#)
    );
    assert_eq!(driven.run.signals.len(), 1);
}

#[test]
fn a_signal_before_the_first_step_is_kept_and_a_thousand_may_wait() {
    let document = flow(
        "{waitForSignal: {type: go}, transitions: {success: flo.Completed}}",
        "",
    );
    let mut driven = Driven::new(&document, "{}");
    assert_eq!(driven.act(Do::Signal("go", "1")), Ok(false));
    assert_eq!(driven.run.status, Status::Pending);
    for _ in 1..1_000 {
        driven.act(Do::Signal("no", "1")).expect("room");
    }
    assert_eq!(
        driven.act(Do::Signal("go", "1")),
        Err(Refusal::TooManySignals)
    );
    let stored = serde_json::to_string(&driven.run).expect("JSON").len();
    assert!(stored < 100_000, "{stored}");
    driven.play(&[]);
    assert_eq!(driven.run.status, Status::Completed);
}

#[test]
fn a_wait_that_times_out_follows_on_timeout_then_the_transition_then_ends_the_run() {
    for (wait, transitions, status, target, last) in [
        (
            "onTimeout: flo.Cancelled",
            "timeout: flo.Failed",
            Status::Cancelled,
            "flo.Cancelled",
            "workflow_cancelled flo.Cancelled",
        ),
        (
            "",
            "timeout: flo.Failed",
            Status::Failed,
            "flo.Failed",
            "workflow_failed flo.Failed",
        ),
        (
            "",
            "success: flo.Completed",
            Status::TimedOut,
            "",
            "workflow_timed_out signal timeout",
        ),
    ] {
        let document = flow(
            &format!(
                "{{waitForSignal: {{type: go, timeoutMs: 1000, {wait}}}, transitions: {{{transitions}}}}}"
            ),
            "",
        );
        check(
            last,
            &document,
            &[Do::After(999), Do::After(1)],
            status,
            &[
                "step_started start",
                "waiting_for_signal go",
                &format!("signal_timeout {target}"),
                last,
            ],
        );
    }
}

#[test]
fn a_signal_without_a_success_transition_fails_the_run() {
    let document = flow(
        "{waitForSignal: {type: go, timeoutMs: 1, onTimeout: flo.Failed}}",
        "",
    );
    check(
        "no transition",
        &document,
        &[Do::Signal("go", "1")],
        Status::Failed,
        &[
            "step_started start",
            "waiting_for_signal go",
            "signal_received go",
            "signal_matched go",
            "step_completed start",
            "workflow_failed no transition for outcome success",
        ],
    );
}
