//! What steps of runs do, rule by rule (`orchestration.md` 1.1 to 1.9).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::flow::{Flow, workflow};

fn run_step(target: &str, transitions: Value) -> Value {
    json!({"run": target, "transitions": transitions})
}

/// 1.4: exact outcome first; execution outcomes then try `execution_failure` and `failure`.
#[tokio::test]
async fn a_transition_is_looked_up_by_the_outcome_and_then_along_the_chain() {
    let flow = Flow::new().await;
    let all = json!({"target_not_found": "flo.Cancelled", "target_disabled": "flo.Cancelled",
        "execution_failure": "flo.TimedOut", "failure": "flo.Completed"});
    let two = json!({"execution_failure": "flo.TimedOut", "failure": "flo.Completed"});
    let one = json!({"failure": "flo.Completed"});
    let none = json!({"success": "flo.Completed"});
    let fraud = json!({"outcome": "fraud"});
    for (target, transitions, input, expected) in [
        ("@actions/none", &all, json!({}), "cancelled"),
        ("@actions/none", &two, json!({}), "timed_out"),
        ("@actions/none", &one, json!({}), "completed"),
        ("@actions/none", &none, json!({}), "target_not_found"),
        ("@workflow/none", &all, json!({}), "cancelled"),
        ("@workflow/none", &none, json!({}), "target_not_found"),
        ("@workflow/none:7", &one, json!({}), "completed"),
        ("@actions/off", &all, json!({}), "cancelled"),
        ("@actions/off", &two, json!({}), "timed_out"),
        ("@actions/off", &one, json!({}), "completed"),
        ("@actions/off", &none, json!({}), "target_disabled"),
        ("@actions/garbage", &all, json!({}), "timed_out"),
        ("@actions/garbage", &one, json!({}), "completed"),
        ("@actions/garbage", &none, json!({}), "execution_failure"),
        // Business outcomes stop at the exact key.
        (
            "@actions/says",
            &json!({"fraud": "flo.Cancelled"}),
            fraud.clone(),
            "cancelled",
        ),
        ("@actions/says", &two, fraud.clone(), "fraud"),
        ("@actions/fails", &one, json!({}), "completed"),
        (
            "@actions/fails",
            &json!({"execution_failure": "flo.Completed"}),
            json!({}),
            "failure",
        ),
        (
            "@actions/silent",
            &json!({"timeout": "flo.TimedOut"}),
            json!({}),
            "timed_out",
        ),
        ("@actions/silent", &two, json!({}), "timeout"),
    ] {
        let document = workflow("chain", run_step(target, transitions.clone()), json!({}));
        let ended = flow.run(document, input).await;
        let context = format!("{target} {transitions}: {:?}", ended.events());
        if ["cancelled", "timed_out", "completed"].contains(&expected) {
            assert_eq!(ended.status(), expected, "{context}");
        } else {
            let reason = format!("no transition for outcome {expected}");
            assert_eq!(ended.status(), "failed", "{context}");
            assert_eq!(
                ended.last(),
                format!("workflow_failed {reason}"),
                "{context}"
            );
            assert_eq!(ended.run["error"]["message"], reason, "{context}");
        }
    }
}

/// 1.1 and 1.14: the history records the name of a terminal, the run its status.
#[tokio::test]
async fn a_terminal_decides_the_status_and_the_last_event() {
    let flow = Flow::new().await;
    for (terminal, status, last) in [
        (
            "flo.Completed",
            "completed",
            "workflow_completed flo.Completed",
        ),
        ("flo.Failed", "failed", "workflow_failed flo.Failed"),
        (
            "flo.Cancelled",
            "cancelled",
            "workflow_cancelled flo.Cancelled",
        ),
        (
            "flo.TimedOut",
            "timed_out",
            "workflow_timed_out flo.TimedOut",
        ),
        ("Done", "completed", "workflow_completed Done"),
        ("Odd", "failed", "workflow_failed Odd"),
        ("Gone", "cancelled", "workflow_cancelled Gone"),
        ("Late", "timed_out", "workflow_timed_out Late"),
    ] {
        let start = run_step("@actions/echo", json!({"success": terminal}));
        let mut document = workflow("ends", start, json!({}));
        document["output"] = json!({"of": "run"});
        document["terminals"] = json!({"Odd": {}, "Gone": {"status": "cancelled"},
            "Late": {"status": "timed_out"},
            "Done": {"status": "completed", "output": {"n": "$.input.n"}}});
        let ended = flow.run(document, json!({"n": 7})).await;
        assert_eq!(ended.status(), status, "{terminal}");
        assert_eq!(ended.last(), last);
        let output = match terminal {
            "flo.Completed" => json!({"of": "run"}),
            "Done" => json!({"n": 7}),
            _ => Value::Null,
        };
        assert_eq!(ended.run["output"], output, "{terminal}");
        let answered = flow.signal_fails(ended.run["runId"].as_str().expect("an id"));
        assert_eq!(
            answered.await,
            "RUN_FINISHED",
            "{terminal}: it never changes again"
        );
    }
}

/// 1.6: which outcomes are repeated, how often, and after which delays.
#[tokio::test]
async fn a_failed_step_is_retried_as_its_policy_says() {
    let flow = Flow::new().await;
    let at_once = |most: u32| json!({"max_attempts": most, "initial_delay_ms": 0});
    let slow = |backoff: &str, max: u32| json!({"max_attempts": 3, "backoff": backoff, "initial_delay_ms": 30, "max_delay_ms": max});
    for (action, policy, input, outcome, executions, delays) in [
        ("flaky", at_once(3), json!({"n": 2}), "success", 3, vec![]),
        ("flaky", at_once(3), json!({"n": 9}), "failure", 3, vec![]),
        ("flaky", at_once(1), json!({"n": 9}), "failure", 1, vec![]),
        (
            "garbage",
            at_once(2),
            json!({}),
            "execution_failure",
            2,
            vec![],
        ),
        // What repeating cannot fix, or may not repeat.
        ("silent", at_once(3), json!({}), "timeout", 1, vec![]),
        (
            "says",
            at_once(3),
            json!({"outcome": "fraud"}),
            "fraud",
            1,
            vec![],
        ),
        ("none", at_once(3), json!({}), "target_not_found", 1, vec![]),
        ("off", at_once(3), json!({}), "target_disabled", 1, vec![]),
        (
            "flaky",
            slow("constant", 1_000),
            json!({"n": 2}),
            "success",
            3,
            vec![30, 30],
        ),
        (
            "flaky",
            slow("linear", 1_000),
            json!({"n": 2}),
            "success",
            3,
            vec![30, 60],
        ),
        (
            "flaky",
            slow("exponential", 1_000),
            json!({"n": 2}),
            "success",
            3,
            vec![30, 60],
        ),
        (
            "flaky",
            slow("exponential", 40),
            json!({"n": 2}),
            "success",
            3,
            vec![30, 40],
        ),
        (
            "flaky",
            slow("exponential-jitter", 1_000),
            json!({"n": 2}),
            "success",
            3,
            vec![30, 60],
        ),
        (
            "flaky",
            json!({"maxAttempts": 3, "initialDelayMs": 5_000, "maxDelayMs": 5_000, "withinMs": 4_000}),
            json!({"n": 2}),
            "failure",
            1,
            vec![],
        ),
    ] {
        let ways = json!({"success": "flo.Completed", "failure": "flo.Failed",
            "timeout": "flo.Failed", "fraud": "flo.Failed"});
        let mut start = run_step(&format!("@actions/{action}"), ways);
        start["retry"] = policy.clone();
        let ended = flow.run(workflow("again", start, json!({})), input).await;
        let context = format!("{action} {policy}: {:?}", ended.events());
        let step = &ended.run["steps"]["start"];
        assert_eq!(step["outcome"], outcome, "{context}");
        assert_eq!(step["executions"], executions, "{context}");
        assert_eq!(ended.count("step_retry"), executions - 1, "{context}");
        // Once for a visit.
        assert_eq!(ended.count("step_started"), 1, "{context}");
        assert_eq!(ended.count("step_completed"), 1, "{context}");
        let (scheduled, retried) = (ended.times("retry_scheduled"), ended.times("step_retry"));
        assert_eq!(scheduled.len(), delays.len(), "{context}");
        for ((from, to), delay) in scheduled.iter().zip(&retried).zip(delays) {
            let waited = to.saturating_sub(*from);
            assert!(
                waited >= Duration::from_millis(delay),
                "{waited:?}: {context}"
            );
        }
    }
}

/// 1.6: the counter resets when the run moves on.
#[tokio::test]
async fn each_visit_of_a_step_has_its_own_retries() {
    let flow = Flow::new().await;
    let mut start = run_step("@actions/fails", json!({"failure": "other"}));
    start["retry"] = json!({"max_attempts": 2, "initial_delay_ms": 0});
    let mut other = start.clone();
    other["transitions"] = json!({"failure": "flo.Failed"});
    let ended = flow
        .run(
            workflow("visits", start, json!({"other": other})),
            json!({}),
        )
        .await;
    assert_eq!(ended.run["steps"]["start"]["executions"], 2);
    assert_eq!(ended.run["steps"]["other"]["executions"], 2);
    assert_eq!(ended.count("step_retry"), 2);
}

/// 1.8: a pending outcome is polled, and routed by `timeout` when the polls are used up.
#[tokio::test]
async fn a_pending_step_is_polled_as_its_policy_says() {
    let flow = Flow::new().await;
    let poll = |most: u32| json!({"maxAttempts": most, "baseDelayMs": 5, "initialDelayMs": 1});
    let ways = json!({"success": "flo.Completed", "pending": "flo.Cancelled",
        "timeout": "flo.TimedOut"});
    for (policy, pending, status, executions, exhausted) in [
        (Some(poll(2)), 1, "completed", 2, 0),
        (Some(poll(2)), 2, "completed", 3, 0),
        // Also where there is a transition for `pending`.
        (Some(poll(2)), 9, "timed_out", 3, 1),
        (Some(poll(0)), 9, "timed_out", 1, 1),
        (None, 9, "cancelled", 1, 0),
    ] {
        let mut start = run_step("@actions/later", ways.clone());
        if let Some(policy) = &policy {
            start["poll"] = policy.clone();
        }
        let document = workflow("polls", start, json!({}));
        let ended = flow.run(document, json!({"n": pending})).await;
        let context = format!("{policy:?} {pending}: {:?}", ended.events());
        assert_eq!(ended.status(), status, "{context}");
        assert_eq!(
            ended.run["steps"]["start"]["executions"], executions,
            "{context}"
        );
        assert_eq!(
            ended.count("poll_scheduled"),
            if policy.is_some() { executions - 1 } else { 0 }
        );
        assert_eq!(ended.count("poll_exhausted"), exhausted, "{context}");
    }
}

/// 1.9: what paths of a mapping stand for.
#[tokio::test]
async fn a_mapping_replaces_paths_by_values_of_their_type() {
    let flow = Flow::new().await;
    let input = json!({"n": 7, "list": [1, {"x": "y"}], "deep": {"er": [true]}, "nothing": null});
    for (mapping, expected) in [
        (json!({"a": "$.input.n"}), json!({"a": 7})),
        (
            json!({"a": ["$.input.list", "$.input.deep"]}),
            json!({"a": [[1, {"x": "y"}], {"er": [true]}]}),
        ),
        (
            json!({"a": "$.input.list[1].x", "b": "$.input.deep.er[0]"}),
            json!({"a": "y", "b": true}),
        ),
        (
            json!({"a": "$.input.none.deeper", "b": "$.input.n.x", "c": "$.input.list[9]"}),
            json!({"a": null, "b": null, "c": null}),
        ),
        (
            json!({"$.input.n": "no path", "b": "a $.input.n"}),
            json!({"$.input.n": "no path", "b": "a $.input.n"}),
        ),
        (
            json!({"a": "$.steps._start.output.first", "b": "$.steps.start.outcome"}),
            json!({"a": 1, "b": "success"}),
        ),
        (json!({"a": "$.steps.nobody.output"}), json!({"a": null})),
        (
            json!("{\"a\": \"$.input.n\", \"b\": 1}"),
            json!({"a": 7, "b": 1}),
        ),
        (
            json!({"a": "$.input.nothing", "b": [1, null]}),
            json!({"a": null, "b": [1, null]}),
        ),
        (Value::Null, input.clone()),
    ] {
        let mut start = run_step("@actions/echo", json!({"success": "second"}));
        start["inputMapping"] = json!({"first": 1});
        let mut second = run_step("@actions/echo", json!({"success": "flo.Completed"}));
        if !mapping.is_null() {
            second["inputMapping"] = mapping.clone();
        }
        let document = workflow("maps", start, json!({"second": second}));
        let ended = flow.run(document, input.clone()).await;
        assert_eq!(
            ended.run["steps"]["second"]["output"], expected,
            "{mapping}"
        );
    }
    let start = json!({"run": "@actions/echo", "transitions": {"success": "flo.Completed"},
        "input": {"run": "$.flo.run_id", "at": "$.flo.timestamp"}});
    let ended = flow.run(workflow("maps", start, json!({})), input).await;
    let output = &ended.run["steps"]["start"]["output"];
    assert_eq!(output["run"], ended.run["runId"]);
    assert!(output["at"].as_i64() > Some(1_600_000_000_000), "{output}");
}

/// 1.9: a mapping that fails is an `execution_failure` of its step, and the next run is unhurt.
#[tokio::test]
async fn a_mapping_that_fails_is_an_execution_failure() {
    let flow = Flow::new().await;
    for mapping in [
        json!({"a": "$.foo"}),
        json!({"a": "$.flo.nothing"}),
        json!({"a": "$.steps.start"}),
        json!({"a": "$.steps.start.other"}),
        json!("not JSON"),
        json!("{\"a\": "),
        json!({"a": "$."}),
    ] {
        let mut start = run_step(
            "@actions/echo",
            json!({"success": "flo.Completed",
            "execution_failure": "flo.Cancelled"}),
        );
        start["inputMapping"] = mapping.clone();
        let ended = flow
            .run(workflow("maps", start, json!({})), json!({}))
            .await;
        assert_eq!(
            ended.status(),
            "cancelled",
            "{mapping}: {:?}",
            ended.events()
        );
        assert_eq!(ended.count("awaiting_action"), 0, "{mapping}");
    }
    let start = run_step("@actions/echo", json!({"success": "flo.Completed"}));
    let ended = flow
        .run(workflow("maps", start, json!({})), json!({}))
        .await;
    assert_eq!(ended.status(), "completed");
}

fn wait(kind: &str, transitions: Value) -> Value {
    json!({"waitForSignal": {"type": kind}, "transitions": transitions})
}

/// 1.8: each stored signal satisfies one wait, the oldest first.
#[tokio::test]
async fn stored_signals_are_taken_once_and_oldest_first() {
    let flow = Flow::new().await;
    let document = workflow(
        "approvals",
        wait("open", json!({"success": "one"})),
        json!({"one": wait("approve", json!({"success": "two"})),
            "two": wait("approve", json!({"success": "three"})),
            "three": wait("approve", json!({"success": "flo.Completed"}))}),
    );
    flow.define(document).await;
    let id = flow.start("approvals", json!({})).await;
    flow.waits(&id, "signal").await;
    for n in 1..=2 {
        let answered = flow.signal(&id, "approve", json!({"n": n})).await;
        assert_eq!(
            (&answered["matched"], &answered["status"]),
            (&json!(false), &json!("waiting"))
        );
    }
    // The type is compared exactly.
    assert_eq!(flow.signal(&id, "OPEN", json!(1)).await["matched"], false);
    assert_eq!(flow.signal(&id, "open", Value::Null).await["matched"], true);
    let waiting = flow.waits(&id, "signal").await;
    assert_eq!(waiting["currentStep"], "three");
    for (step, n) in [("one", 1), ("two", 2)] {
        assert_eq!(
            waiting["steps"][step],
            json!({"outcome": "success", "output": {"n": n}, "executions": 1})
        );
    }
    let consumed: Vec<_> = waiting["signals"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|signal| signal["consumed"].clone())
        .collect();
    assert_eq!(
        consumed,
        [json!(true), json!(true), json!(false), json!(true)]
    );
    assert_eq!(
        flow.signal(&id, "approve", json!({"n": 3})).await["status"],
        "completed"
    );
    let ended = flow.ended(&id).await;
    assert_eq!(ended.count("signal_received"), 5);
    assert_eq!(ended.count("signal_matched"), 4);
    // A wait that finds a stored signal does not park.
    assert_eq!(ended.count("waiting_for_signal"), 2);
}

/// 1.8: where a wait goes when its time is over.
#[tokio::test]
async fn a_wait_times_out_to_its_target_or_ends_the_run() {
    let flow = Flow::new().await;
    for (on_timeout, transition, status, events) in [
        (
            Some("flo.Cancelled"),
            Some("flo.Failed"),
            "cancelled",
            [
                "signal_timeout flo.Cancelled",
                "workflow_cancelled flo.Cancelled",
            ],
        ),
        (
            None,
            Some("flo.Failed"),
            "failed",
            ["signal_timeout flo.Failed", "workflow_failed flo.Failed"],
        ),
        (
            None,
            None,
            "timed_out",
            ["signal_timeout", "workflow_timed_out signal timeout"],
        ),
    ] {
        let mut start = wait("go", json!({"success": "flo.Completed"}));
        start["waitForSignal"]["timeoutMs"] = json!(40);
        if let Some(target) = on_timeout {
            start["waitForSignal"]["onTimeout"] = json!(target);
        }
        if let Some(target) = transition {
            start["transitions"]["timeout"] = json!(target);
        }
        let ended = flow
            .run(workflow("times", start, json!({})), json!({}))
            .await;
        assert_eq!(ended.status(), status);
        let expected = ["step_started start", "waiting_for_signal go"]
            .into_iter()
            .chain(events);
        assert_eq!(
            ended.events(),
            expected.collect::<Vec<_>>(),
            "no step_completed"
        );
        let waited = ended.waited("waiting_for_signal", "signal_timeout");
        assert!(waited >= Duration::from_millis(40), "{waited:?}");
    }
    // Without a transition for success the run fails.
    flow.define(workflow("times", wait("go", json!({})), json!({})))
        .await;
    let id = flow.start("times", json!({})).await;
    flow.waits(&id, "signal").await;
    assert_eq!(
        flow.signal(&id, "go", Value::Null).await["status"],
        "failed"
    );
}

impl Flow {
    async fn signal_fails(&self, id: &str) -> String {
        let signal = json!({"runId": id, "type": "any"});
        self.connection.fails("RunSignalRequest", signal).await
    }
}

/// 1.8 and 1.13: what is refused of signals.
#[tokio::test]
async fn signals_have_a_type_of_the_clients_and_a_bounded_number() {
    let flow = Flow::new().await;
    flow.define(workflow(
        "waits",
        wait("go", json!({"success": "flo.Completed"})),
        json!({}),
    ))
    .await;
    let id = flow.start("waits", json!({})).await;
    flow.waits(&id, "signal").await;
    for (payload, code) in [
        (json!({"runId": id, "type": ""}), "BAD_REQUEST"),
        (json!({"runId": id}), "BAD_REQUEST"),
        (json!({"runId": id, "type": 7}), "BAD_REQUEST"),
        (
            json!({"runId": id, "type": "_action_done:1"}),
            "BAD_REQUEST",
        ),
        (json!({"runId": "wfrun-1", "type": "go"}), "RUN_NOT_FOUND"),
    ] {
        let refused = flow
            .connection
            .fails("RunSignalRequest", payload.clone())
            .await;
        assert_eq!(refused, code, "{payload}");
    }
    for n in 0..1_000 {
        flow.signal(&id, "other", json!(n)).await;
    }
    let more = json!({"runId": id, "type": "other"});
    let refused = flow.connection.fails("RunSignalRequest", more).await;
    assert_eq!(refused, "TOO_MANY_REQUESTS");
    // The one that is waited for needs no room.
    assert_eq!(
        flow.signal(&id, "go", Value::Null).await["status"],
        "completed"
    );
}
