//! Outcomes, repetition and bounds of steps (`orchestration.md` 1.4, 1.6, 1.8, 1.13).
#![cfg(test)]

use super::checks::{check, step};
use super::driven::{Do, Driven, flow};
use crate::program::*;

#[test]
fn execution_outcomes_fall_back_and_business_outcomes_do_not() {
    use Status::{Completed, Failed};
    let missing = |transitions: &str| {
        flow(
            &format!("{{run: \"@actions/missing\", transitions: {{{transitions}}}}}"),
            "",
        )
    };
    let not_found = [
        "step_started start",
        "action_not_found missing",
        "step_completed start",
    ];
    for (transitions, status, last) in [
        (
            "target_not_found: flo.Completed, failure: flo.Failed",
            Completed,
            "workflow_completed flo.Completed",
        ),
        (
            "execution_failure: flo.Completed, failure: flo.Failed",
            Completed,
            "workflow_completed flo.Completed",
        ),
        (
            "success: flo.Completed, failure: flo.Failed",
            Failed,
            "workflow_failed flo.Failed",
        ),
        (
            "success: flo.Completed",
            Failed,
            "workflow_failed no transition for outcome target_not_found",
        ),
    ] {
        let events = [&not_found[..], &[last]].concat();
        let driven = check(transitions, &missing(transitions), &[], status, &events);
        assert_eq!(driven.outcome("_start"), "target_not_found");
    }
    // `target_disabled` enters the chain at its second link.
    let mut driven = Driven::new(
        &step("execution_failure: flo.Completed, failure: flo.Failed", ""),
        "{}",
    );
    driven.disabled = vec!["a"];
    driven.play(&[]);
    assert_eq!(
        driven.events()[1..],
        [
            "action_disabled a",
            "step_completed start",
            "workflow_completed flo.Completed"
        ]
    );
    // A business outcome has its own transition, or none.
    for (outcome, last) in [
        ("fraud", "workflow_failed no transition for outcome fraud"),
        ("failure", "workflow_failed flo.Failed"),
    ] {
        check(
            outcome,
            &step(
                "success: flo.Completed, failure: flo.Failed, execution_failure: flo.Completed",
                "",
            ),
            &[Do::Answer(outcome, "{}")],
            Failed,
            &[
                "step_started start",
                "awaiting_action a",
                &format!("action_completed {outcome}"),
                "step_completed start",
                last,
            ],
        );
    }
    // A timeout of the registry is a business outcome.
    check(
        "deadline",
        &step("failure: flo.Failed, timeout: flo.TimedOut", ""),
        &[Do::Deadline],
        Status::TimedOut,
        &[
            "step_started start",
            "awaiting_action a",
            "action_completed timeout",
            "step_completed start",
            "workflow_timed_out flo.TimedOut",
        ],
    );
    check(
        "lost",
        &step("failure: flo.Cancelled", ""),
        &[Do::Lost],
        Status::Cancelled,
        &[
            "step_started start",
            "awaiting_action a",
            "action_lost execution_failure",
            "step_completed start",
            "workflow_cancelled flo.Cancelled",
        ],
    );
}

#[test]
fn a_run_that_a_failed_step_ends_says_why() {
    for (outcome, output, expected) in [
        (
            "failure",
            r#"{"error": "declined", "error_code": "card"}"#,
            Some((Some("card"), "step start: declined")),
        ),
        (
            "failure",
            r#"{"error": "declined"}"#,
            Some((None, "step start: declined")),
        ),
        ("failure", r#"{"error": 5}"#, None),
        ("failure", "{}", None),
        // It may say so as its result, which is no failure.
        ("success", r#"{"error": "declined"}"#, None),
    ] {
        let mut driven = Driven::new(&step("success: flo.Failed, failure: flo.Failed", ""), "{}");
        driven.play(&[Do::Answer(outcome, output)]);
        assert_eq!(driven.run.status, Status::Failed);
        let error = driven.run.error.as_ref();
        let said = error.map(|error| (error.code.as_deref(), &*error.message));
        assert_eq!(said, expected, "{outcome} {output}");
    }
    let polled = step(
        "timeout: flo.Failed",
        ", poll: {maxAttempts: 1, initialDelayMs: 5}",
    );
    let mut driven = Driven::new(&polled, "{}");
    let pending = Do::Answer("pending", "{}");
    driven.play(&[pending, Do::After(5), pending]);
    let error = driven.run.error.map(|error| error.message);
    let expected = "step start: still pending after the last poll";
    assert_eq!(error.as_deref(), Some(expected));
}

#[test]
fn an_outcome_that_only_the_engine_gives_is_an_execution_failure() {
    for outcome in ["target_not_found", "execution_failure", "_x", ""] {
        let mut driven = Driven::new(&step("failure: flo.Failed", ""), "{}");
        driven.play(&[Do::Answer(outcome, "{}")]);
        assert_eq!(driven.outcome("_start"), "execution_failure", "{outcome}");
        assert_eq!(driven.run.status, Status::Failed);
    }
}

#[test]
fn a_terminal_gives_the_run_its_status_and_its_name_the_detail() {
    for (status, word, event) in [
        (Status::Completed, "completed", "workflow_completed"),
        (Status::Failed, "failed", "workflow_failed"),
        (Status::Cancelled, "cancelled", "workflow_cancelled"),
        (Status::TimedOut, "timed_out", "workflow_timed_out"),
    ] {
        let document =
            step("success: Custom", "") + &format!("terminals: {{Custom: {{status: {word}}}}}");
        let driven = check(
            word,
            &document,
            &[Do::Answer("success", "{}")],
            status,
            &[
                "step_started start",
                "awaiting_action a",
                "action_completed success",
                "step_completed start",
                &format!("{event} Custom"),
            ],
        );
        assert_eq!((&driven.run.position, &driven.run.waiting), (&None, &None));
    }
}

#[test]
fn a_step_is_retried_after_failure_and_execution_failure_only() {
    let document = step(
        "failure: flo.Failed, timeout: flo.TimedOut, fraud: flo.Cancelled, target_disabled: flo.Failed",
        ", retry: {max_attempts: 2, initial_delay_ms: 0}",
    );
    for (act, retried) in [
        (Do::Answer("failure", "{}"), true),
        (Do::Lost, true),
        (Do::Deadline, false),
        (Do::Answer("timeout", "{}"), false),
        (Do::Answer("fraud", "{}"), false),
    ] {
        let mut driven = Driven::new(&document, "{}");
        driven.play(&[act]);
        let events = driven.events();
        assert_eq!(
            events.contains(&"step_retry start".to_owned()),
            retried,
            "{act:?}"
        );
        assert_eq!(
            events
                .iter()
                .filter(|event| *event == "step_started start")
                .count(),
            1
        );
        assert_eq!(driven.run.status.is_end(), !retried, "{act:?}");
    }
}

#[test]
fn max_attempts_is_the_number_of_executions_and_delays_are_waited_for() {
    let document = step(
        "failure: flo.Failed",
        ", retry: {max_attempts: 3, initial_delay_ms: 1000}",
    );
    let fails = Do::Answer("failure", "{}");
    let execution = ["awaiting_action a", "action_completed failure"];
    let retry = ["retry_scheduled start", "step_retry start"];
    let events = [
        &["step_started start"][..],
        &execution,
        &retry,
        &execution,
        &retry,
        &execution,
        &["step_completed start", "workflow_failed flo.Failed"],
    ]
    .concat();
    let script = [
        fails,
        Do::After(999),
        Do::After(1),
        fails,
        Do::After(1_999),
        Do::After(1),
        fails,
    ];
    let driven = check("retry", &document, &script, Status::Failed, &events);
    assert_eq!(driven.run.results["_start"].executions, 3);

    let mut early = Driven::new(&document, "{}");
    early.play(&[fails]);
    assert_eq!(early.run.status, Status::Waiting);
    assert_eq!(early.act(Do::After(999)), Ok(false));
    assert_eq!(early.act(Do::After(1)), Ok(true));
    assert_eq!(early.task().ordinal, 2);
}

#[test]
fn within_ms_ends_retries_and_another_step_counts_again() {
    let document = step(
        "failure: flo.Failed",
        ", retry: {max_attempts: 9, backoff: constant, initial_delay_ms: 100, within_ms: 150}",
    );
    let mut driven = Driven::new(&document, "{}");
    driven.play(&[
        Do::Answer("failure", "{}"),
        Do::After(100),
        Do::Answer("failure", "{}"),
    ]);
    assert_eq!(driven.run.status, Status::Failed);
    assert_eq!(driven.run.results["_start"].executions, 2);

    // A transition to the step itself is a fresh visit.
    let document = flow(
        "{run: \"@actions/a\", transitions: {success: again}}",
        "steps: {again: {run: \"@actions/a\", retry: {max_attempts: 2, initial_delay_ms: 0}, transitions: {failure: again, success: flo.Completed}}}",
    );
    let mut driven = Driven::new(&document, "{}");
    let fails = Do::Answer("failure", "{}");
    driven.play(&[
        Do::Answer("success", "{}"),
        fails,
        fails,
        fails,
        Do::Answer("success", "{}"),
    ]);
    let events = driven.events();
    assert_eq!(
        events
            .iter()
            .filter(|event| *event == "step_started again")
            .count(),
        2
    );
    assert_eq!(
        events
            .iter()
            .filter(|event| *event == "step_retry again")
            .count(),
        2
    );
    assert_eq!(driven.run.status, Status::Completed);
}

#[test]
fn pending_is_polled_until_the_polls_are_used_and_then_times_out() {
    let document = step(
        "success: flo.Completed, timeout: flo.TimedOut, pending: flo.Failed",
        ", poll: {initialDelayMs: 5, maxAttempts: 2, backoff: exponential, baseDelayMs: 10}",
    );
    let pending = Do::Answer("pending", "{}");
    let execution = ["awaiting_action a", "action_completed pending"];
    let events = [
        &["step_started start"][..],
        &execution,
        &["poll_scheduled start"],
        &execution,
        &["poll_scheduled start"],
        &execution,
        &[
            "poll_exhausted start",
            "step_completed start",
            "workflow_timed_out flo.TimedOut",
        ],
    ]
    .concat();
    let script = [pending, Do::After(5), pending, Do::After(10), pending];
    check("polls", &document, &script, Status::TimedOut, &events);
    // Another outcome ends polling.
    let mut driven = Driven::new(&document, "{}");
    driven.play(&[pending, Do::After(5), Do::Answer("success", "{}")]);
    assert_eq!(driven.run.status, Status::Completed);
    // Without polls there is one execution.
    let none = step("timeout: flo.TimedOut", ", poll: {maxAttempts: 0}");
    check(
        "none",
        &none,
        &[pending],
        Status::TimedOut,
        &[
            "step_started start",
            execution[0],
            execution[1],
            "poll_exhausted start",
            "step_completed start",
            "workflow_timed_out flo.TimedOut",
        ],
    );
}

#[test]
fn pending_without_a_poll_follows_its_transition_or_waits_for_the_outcome() {
    let pending = Do::Answer("pending", "{\"id\":1}");
    check(
        "transition",
        &step("pending: flo.Completed", ""),
        &[pending],
        Status::Completed,
        &[
            "step_started start",
            "awaiting_action a",
            "action_completed pending",
            "step_completed start",
            "workflow_completed flo.Completed",
        ],
    );
    let parked = step("success: flo.Completed, timeout: flo.TimedOut", "");
    let started = ["step_started start", "awaiting_action a"];
    check("parked", &parked, &[pending], Status::Waiting, &started);
    check(
        "reported",
        &parked,
        &[pending, Do::After(29_999), Do::Answer("success", "{}")],
        Status::Completed,
        &[
            &started[..],
            &[
                "action_completed success",
                "step_completed start",
                "workflow_completed flo.Completed",
            ],
        ]
        .concat(),
    );
    // Counted from the answer, by the timeout of the action.
    let driven = check(
        "late",
        &parked,
        &[Do::After(60_000), pending, Do::After(30_000)],
        Status::TimedOut,
        &[
            &started[..],
            &[
                "action_completed timeout",
                "step_completed start",
                "workflow_timed_out flo.TimedOut",
            ],
        ]
        .concat(),
    );
    let is_given_up = |effect: &Effect| matches!(effect, Effect::GiveUp { ordinal: 1, .. });
    assert!(driven.effects.iter().any(is_given_up));
    // By the first answer: another `pending` does not begin the time again.
    let mut driven = Driven::new(&parked, "{}");
    driven.play(&[pending, Do::After(20_000), pending, Do::After(10_000)]);
    assert_eq!(driven.run.status, Status::TimedOut);
}

#[test]
fn steps_are_bounded_without_waiting_and_in_all() {
    let round = "steps: {again: {run: \"@actions/missing\", transitions: {failure: again}}}";
    let document = flow(
        "{run: \"@actions/missing\", transitions: {failure: again}}",
        round,
    );
    let mut driven = Driven::new(&document, "{}");
    driven.play(&[]);
    assert_eq!(
        driven.events().last().map(String::as_str),
        Some("workflow_failed max step limit reached")
    );
    assert_eq!(driven.run.steps, 257);
    // Waiting gives a new budget, so the other bound is what ends a game of ping-pong.
    let round = "steps: {again: {run: \"@actions/a\", transitions: {success: again}}}";
    let document = flow(
        "{run: \"@actions/a\", transitions: {success: again}}",
        round,
    );
    let mut driven = Driven::new(&document, "{}");
    driven.limits.steps_max = 400;
    driven.play(&[Do::Answer("success", "{}"); 400]);
    assert_eq!(
        driven.events().last().map(String::as_str),
        Some("workflow_failed max step limit reached")
    );
    assert_eq!(
        driven.run.error.as_ref().map(|error| &*error.message),
        Some("max step limit reached")
    );
}

#[test]
fn a_history_of_more_than_64_mib_fails_the_run() {
    let round = "steps: {again: {run: \"@actions/a\", transitions: {success: again}}}";
    let document = flow(
        "{run: \"@actions/a\", transitions: {success: again}}",
        round,
    );
    let mut driven = Driven::new(&document, "{}");
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    let large: &str = large.leak();
    driven.play(&[Do::Answer("success", large); 63]);
    assert_eq!(driven.run.status, Status::Waiting);
    driven.play(&[Do::Answer("success", large)]);
    assert_eq!(driven.run.status, Status::Failed);
    assert_eq!(
        driven.events().last().map(String::as_str),
        Some("workflow_failed the history of the run has more than 64 MiB")
    );
}

#[test]
fn an_action_that_is_done_within_the_turn_leaves_its_end_alone_in_the_history() {
    let document = flow(
        "{run: \"@actions/here\", transitions: {success: flo.Completed}}",
        "",
    );
    check(
        "done within the turn",
        &document,
        &[],
        Status::Completed,
        &[
            "step_started start",
            "action_completed success",
            "step_completed start",
            "workflow_completed flo.Completed",
        ],
    );
}
