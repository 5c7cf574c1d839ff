//! The rules of plans (`orchestration.md` 1.7), as the machine follows them.
#![cfg(test)]

use super::driven::{Do, Driven, flow};
use crate::program::*;

const FAILS: Do = Do::Answer("failure", "{\"error\":\"no\"}");

/// A workflow of one step, a plan with the executors `one`, `two` and so on.
fn plan(executors: &[&str], more: &str) -> String {
    let executors: Vec<String> = ["one", "two", "three"]
        .iter()
        .zip(executors)
        .map(|(name, more)| format!("{{name: {name}, action: \"@actions/{name}\"{more}}}"))
        .collect();
    flow(
        "{run: \"@plan/p\", input: {n: $.input.n}, transitions: {success: flo.Completed, failure: flo.Failed, timeout: flo.TimedOut}}",
        &format!(
            "plans: {{p: {{executors: [{}]{more}}}}}\noutput: $.steps._start.output",
            executors.join(", ")
        ),
    )
}

fn played(document: &str, script: &[Do]) -> Driven {
    let mut driven = Driven::new(document, "{\"n\":1}");
    driven.play(script);
    driven
}

/// The events of the plan and its tasks, without those of the step and the run.
fn events(driven: &Driven) -> Vec<String> {
    let events = driven.events().into_iter();
    events
        .filter(|event| event.starts_with("plan_") || event.starts_with("awaiting_action"))
        .collect()
}

fn samples(driven: &Driven) -> Vec<(String, Sample)> {
    let effects = driven.effects.iter();
    effects
        .filter_map(|effect| match effect {
            Effect::Record {
                executor, sample, ..
            } => Some((executor.to_string(), *sample)),
            Effect::Send(_)
            | Effect::GiveUp { .. }
            | Effect::CancelChild { .. }
            | Effect::Keep { .. }
            | Effect::Log(_) => None,
        })
        .collect()
}

#[test]
fn the_first_success_ends_the_pass_with_its_output() {
    let driven = played(
        &plan(&["", "", ""], ""),
        &[FAILS, Do::Answer("success", "{\"ok\":1}")],
    );
    assert_eq!(
        events(&driven),
        [
            "plan_executor_start one",
            "awaiting_action one",
            "plan_executor_exhausted one",
            "plan_executor_start two",
            "awaiting_action two",
            "plan_executor_success two",
        ]
    );
    assert_eq!(driven.output().as_deref(), Some("{\"ok\":1}"));
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(
        samples(&driven),
        [
            ("one".into(), Sample::Failure),
            ("two".into(), Sample::Success)
        ]
    );
    // All attempts have the same input, which is stored once.
    let inputs: Vec<_> = driven
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Send(task) => Some(task.input.clone()),
            Effect::GiveUp { .. }
            | Effect::CancelChild { .. }
            | Effect::Record { .. }
            | Effect::Keep { .. }
            | Effect::Log(_) => None,
        })
        .collect();
    assert_eq!(inputs[0], inputs[1]);
    assert_eq!(driven.text(&inputs[0]), "{\"n\":1}");
}

#[test]
fn a_plan_whose_executors_all_fail_is_a_failure_with_the_last_output() {
    let driven = played(
        &plan(&["", ""], ""),
        &[FAILS, Do::Answer("timeout", "{\"error\":\"slow\"}")],
    );
    assert_eq!(driven.outcome("_start"), "failure");
    assert_eq!(driven.run.status, Status::Failed);
    let output = &driven.run.results["_start"].output;
    assert_eq!(driven.text(output), "{\"error\":\"slow\"}");
}

#[test]
fn a_run_that_a_failed_plan_ends_says_why_also_if_the_output_is_large() {
    for room in [0, 5_000] {
        let output = format!(
            r#"{{"error":"refused","error_code":"CARD","more":"{}"}}"#,
            "x".repeat(room)
        );
        let output: &'static str = output.leak();
        let driven = played(
            &plan(&["", ""], ""),
            &[FAILS, Do::Answer("failure", output)],
        );
        let error = driven.run.error.as_ref().expect("an error");
        assert_eq!(error.code.as_deref(), Some("CARD"));
        assert_eq!(&*error.message, "step start: refused");
    }
    let document = plan(&[""], "").replace("@actions/one", "@actions/missing");
    let error = played(&document, &[]).run.error.expect("an error");
    assert!(error.message.starts_with("step start: "), "{error:?}");
}

#[test]
fn another_outcome_ends_the_pass_and_is_that_of_the_step() {
    let document = plan(&["", ""], "").replace(
        "timeout: flo.TimedOut",
        "fraud: flo.Cancelled, pending: flo.TimedOut",
    );
    for (outcome, status) in [("fraud", Status::Cancelled), ("pending", Status::TimedOut)] {
        let driven = played(&document, &[Do::Answer(outcome, "{}")]);
        assert_eq!(driven.run.status, status);
        assert_eq!(
            events(&driven),
            ["plan_executor_start one", "awaiting_action one"]
        );
        assert_eq!(samples(&driven), [("one".into(), Sample::Other)]);
    }
}

#[test]
fn an_executor_is_retried_by_its_own_policy_and_started_once() {
    let document = plan(
        &[", retry: {max_attempts: 2, initial_delay_ms: 10}", ""],
        "",
    );
    let driven = played(&document, &[Do::Deadline, Do::After(10), FAILS, FAILS]);
    assert_eq!(
        events(&driven),
        [
            "plan_executor_start one",
            "awaiting_action one",
            "plan_executor_retry one",
            "awaiting_action one",
            "plan_executor_exhausted one",
            "plan_executor_start two",
            "awaiting_action two",
            "plan_executor_exhausted two",
        ]
    );
    assert_eq!(samples(&driven)[0], ("one".into(), Sample::NoAnswer));
    assert_eq!(driven.run.results["_start"].executions, 1);
}

#[test]
fn a_fatal_code_skips_the_retries_and_another_one_does_not() {
    let errors = ", errors: {retryable: [timeout, both], fatal: [fraud, both]}";
    let document = plan(
        &[", retry: {max_attempts: 3, initial_delay_ms: 0}", ""],
        errors,
    );
    for (output, retried) in [
        ("{\"error_code\":\"fraud\"}", false),
        ("{\"error\":{\"code\":\"both\"}}", false),
        ("{\"error_code\":\"timeout\"}", true),
        ("{\"error\":\"unknown\"}", true),
        ("{}", true),
    ] {
        let driven = played(&document, &[Do::Answer("failure", output)]);
        let last = events(&driven).pop().expect("an event");
        assert_eq!(last == "awaiting_action one", retried, "{output}: {last}");
    }
}

#[test]
fn an_action_that_is_missing_is_not_repeated() {
    let document = plan(&[", retry: {max_attempts: 3, initial_delay_ms: 0}", ""], "")
        .replace("@actions/one", "@actions/missing");
    let driven = played(&document, &[Do::Answer("success", "{}")]);
    assert_eq!(
        events(&driven),
        [
            "plan_executor_start one",
            "plan_executor_exhausted one",
            "plan_executor_start two",
            "awaiting_action two",
            "plan_executor_success two"
        ]
    );
    assert_eq!(driven.text(&driven.task().input.clone()), "{\"n\":1}");
    assert_eq!(samples(&driven)[0].1, Sample::NoAnswer);
}

#[test]
fn an_open_breaker_and_a_rate_limit_pass_an_executor_over() {
    let document = plan(&["", ""], "");
    let mut driven = Driven::new(&document, "{\"n\":1}");
    driven.permits.insert("one", [Permit::Open].into());
    driven.play(&[Do::Answer("success", "{}")]);
    assert_eq!(
        events(&driven)[..2],
        ["plan_breaker_skip one", "plan_executor_start two"]
    );
    // Rate limits alone are a failure with a code of their own.
    let mut driven = Driven::new(&document, "{\"n\":1}");
    driven.permits.insert("one", [Permit::Limited].into());
    driven.permits.insert("two", [Permit::Limited].into());
    driven.play(&[]);
    assert_eq!(
        events(&driven),
        ["plan_rate_limited one", "plan_rate_limited two"]
    );
    let output = driven.text(&driven.run.results["_start"].output.clone());
    assert!(
        output.contains("\"error_code\":\"rate_limited\""),
        "{output}"
    );
    // A breaker that opens between attempts ends those of its executor.
    let document = plan(&[", retry: {max_attempts: 3, initial_delay_ms: 0}", ""], "");
    let mut driven = Driven::new(&document, "{\"n\":1}");
    driven
        .permits
        .insert("one", [Permit::Granted, Permit::Open].into());
    driven.play(&[FAILS]);
    assert_eq!(
        events(&driven)[2..],
        [
            "plan_executor_retry one",
            "plan_breaker_skip one",
            "plan_executor_exhausted one",
            "plan_executor_start two",
            "awaiting_action two"
        ]
    );
}

#[test]
fn a_fallback_is_a_success_once_all_are_exhausted_or_at_the_first_error() {
    for (condition, tried) in [("exhausted", 2), ("any_error", 1)] {
        let fallback =
            format!(", fallback: {{value: {{status: declined}}, condition: {condition}}}");
        let driven = played(&plan(&["", ""], &fallback), &[FAILS, FAILS][..tried]);
        assert_eq!(driven.run.status, Status::Completed);
        assert_eq!(
            driven.output().as_deref(),
            Some("{\"status\":\"declined\"}")
        );
        let started = events(&driven)
            .iter()
            .filter(|event| event.starts_with("plan_executor_start"))
            .count();
        assert_eq!(started, tried, "{condition}");
        assert_eq!(
            events(&driven).last().map(String::as_str),
            Some("plan_fallback_used p")
        );
    }
}

#[test]
fn a_cached_output_is_a_success_without_an_attempt_and_a_success_is_kept() {
    let document = plan(&[""], ", cache: {key: \"k:{input.n}\"}");
    let mut driven = Driven::new(&document, "{\"n\":1}");
    driven.cached = Some("{\"was\":1}");
    driven.play(&[]);
    assert_eq!(events(&driven), ["plan_cache_hit p"]);
    assert_eq!(driven.output().as_deref(), Some("{\"was\":1}"));
    let driven = played(&document, &[Do::Answer("success", "{\"new\":1}")]);
    let kept = Effect::Keep {
        plan: "p".into(),
        key: "k:1".into(),
        output: "{\"new\":1}".into(),
    };
    assert!(driven.effects.contains(&kept));
    assert_eq!(
        driven.asked[0],
        Ask::Order {
            plan: "p".into(),
            cache_key: Some("k:1".into())
        }
    );
    // A placeholder without a value turns caching off.
    let unresolved = plan(&[""], ", cache: {key: \"{input.none}\"}");
    let driven = played(&unresolved, &[Do::Answer("success", "{}")]);
    assert_eq!(
        driven.asked[0],
        Ask::Order {
            plan: "p".into(),
            cache_key: None
        }
    );
    assert!(
        !driven
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Keep { .. }))
    );
}

#[test]
fn an_async_attempt_is_waited_for_and_its_timeout_is_a_failure_of_the_executor() {
    let document = plan(&[", tracking: {mode: async, timeout_ms: 300}", ""], "");
    let pending = Do::Answer("pending", "{}");
    let driven = played(
        &document,
        &[pending, Do::After(299), Do::Answer("success", "{}")],
    );
    assert_eq!(driven.run.status, Status::Completed);
    let driven = played(
        &document,
        &[pending, Do::After(300), Do::Answer("success", "{}")],
    );
    assert_eq!(
        events(&driven),
        [
            "plan_executor_start one",
            "awaiting_action one",
            "plan_executor_exhausted one",
            "plan_executor_start two",
            "awaiting_action two",
            "plan_executor_success two"
        ]
    );
    assert_eq!(samples(&driven)[0], ("one".into(), Sample::NoAnswer));
}

#[test]
fn the_retry_of_a_plan_step_is_another_pass() {
    let document = plan(&[""], "").replace(
        "transitions: {success",
        "retry: {max_attempts: 2, initial_delay_ms: 0}, transitions: {success",
    );
    let driven = played(&document, &[FAILS, FAILS]);
    assert_eq!(driven.run.status, Status::Failed);
    assert_eq!(driven.run.results["_start"].executions, 2);
    let started = events(&driven)
        .iter()
        .filter(|event| *event == "plan_executor_start one")
        .count();
    assert_eq!(started, 2);
}

#[test]
fn at_most_thirty_two_executors_are_considered() {
    let executors: Vec<String> = (0..40)
        .map(|at| format!("{{name: e{at}, action: \"@actions/missing\"}}"))
        .collect();
    let document = flow(
        "{run: \"@plan/p\", transitions: {failure: flo.Failed}}",
        &format!("plans: {{p: {{executors: [{}]}}}}", executors.join(", ")),
    );
    let driven = played(&document, &[]);
    assert_eq!(
        events(&driven)
            .iter()
            .filter(|event| event.starts_with("plan_executor_start"))
            .count(),
        32
    );
}

/// What the executions of a run have ended with, as far as their own events say it.
fn reasons(driven: &Driven) -> Vec<Option<&str>> {
    let ends = driven.history.iter();
    let ends = ends.filter(|event| event.kind == EventKind::ActionCompleted);
    ends.map(|event| event.data.as_deref()).collect()
}

#[test]
fn why_an_execution_failed_is_kept_if_another_follows() {
    let fallback = ", fallback: {value: {fb: 1}}";
    let fails = |reason: &'static str| Do::Answer("failure", reason);
    let (one, two) = (r#"{"error":"one"}"#, r#"{"error":"two"}"#);
    let driven = played(&plan(&["", ""], fallback), &[fails(one), fails(two)]);
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(reasons(&driven), [Some(one), Some(two)]);
    let document = flow(
        "{run: \"@actions/a\", retry: {max_attempts: 3, initial_delay_ms: 0}, transitions: {success: flo.Completed}}",
        "",
    );
    let driven = played(&document, &[fails(one), Do::Answer("success", "{}")]);
    assert_eq!(driven.run.status, Status::Completed);
    assert_eq!(reasons(&driven), [Some(one), None], "the step has the last");
}
