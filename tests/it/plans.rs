//! Plans of executors, rule by rule (`orchestration.md` 1.7).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    PATIENCE, between_looks, create,
    flow::{Ended, Flow, workflow},
    governed_model,
};

/// A workflow of one step, which runs the plan; every outcome is an end.
fn planned(name: &str, plan: Value) -> Value {
    let ways = json!({"success": "flo.Completed", "failure": "flo.Failed", "fraud": "flo.Cancelled",
        "timeout": "flo.TimedOut", "pending": "flo.Cancelled"});
    let start = json!({"run": "@plan/p", "transitions": ways});
    let mut document = workflow(name, start, json!({}));
    document["plans"] = json!({"p": plan});
    document
}

fn executor(name: &str, action: &str, more: Value) -> Value {
    let mut executor = json!({"name": name, "action": format!("@actions/{action}")});
    for (key, value) in more.as_object().expect("members") {
        executor[key] = value.clone();
    }
    executor
}

/// What happened to executors, without the `plan_`.
fn steps(ended: &Ended) -> Vec<String> {
    let events = ended.events().into_iter();
    let of_plan = events.filter_map(|event| event.strip_prefix("plan_").map(ToOwned::to_owned));
    of_plan
        .map(|event| event.replace("executor_", "").trim().to_owned())
        .collect()
}

fn outcome(ended: &Ended) -> &Value {
    &ended.run["steps"]["start"]["outcome"]
}

fn output(ended: &Ended) -> &Value {
    &ended.run["steps"]["start"]["output"]
}

/// 1.7.1, 1.7.2 and 1.7.8.
#[tokio::test]
async fn executors_are_tried_in_order_until_one_of_them_decides() {
    let flow = Flow::new().await;
    let none = json!({});
    let at_once = json!({"retry": {"max_attempts": 3, "initial_delay_ms": 0}});
    let declined = json!({"error": {"code": "DECLINED", "message": "no"}});
    let fatal = json!({"fatal": ["DECLINED"], "retryable": ["BUSY"]});
    let both = json!({"fatal": ["DECLINED"], "retryable": ["DECLINED"]});
    for (case, (executors, errors, input, expected, events)) in [
        (
            // By priority, then as documented; 100 if none is given.
            json!([
                executor("a", "echo", json!({"priority": 1})),
                executor("b", "fails", json!({"priority": 200})),
                executor("c", "fails", none.clone()),
                executor("d", "fails", json!({"priority": 100}))
            ]),
            Value::Null,
            json!({}),
            "success",
            vec![
                "start b",
                "exhausted b",
                "start c",
                "exhausted c",
                "start d",
                "exhausted d",
                "start a",
                "success a",
            ],
        ),
        (
            // What is neither success, failure nor timeout is the outcome of the step.
            json!([
                executor("a", "says", none.clone()),
                executor("b", "echo", none.clone())
            ]),
            Value::Null,
            json!({"outcome": "fraud"}),
            "fraud",
            vec!["start a"],
        ),
        (
            json!([
                executor("a", "says", none.clone()),
                executor("b", "echo", none.clone())
            ]),
            Value::Null,
            json!({"outcome": "pending"}),
            "pending",
            vec!["start a"],
        ),
        (
            json!([
                executor("a", "silent", none.clone()),
                executor("b", "garbage", none.clone()),
                executor("c", "none", none.clone()),
                executor("d", "off", none.clone()),
                executor("e", "echo", none.clone())
            ]),
            Value::Null,
            json!({}),
            "success",
            vec![
                "start a",
                "exhausted a",
                "start b",
                "exhausted b",
                "start c",
                "exhausted c",
                "start d",
                "exhausted d",
                "start e",
                "success e",
            ],
        ),
        (
            json!([
                executor("a", "fails", none.clone()),
                executor("b", "fails", none.clone())
            ]),
            Value::Null,
            json!({}),
            "failure",
            vec!["start a", "exhausted a", "start b", "exhausted b"],
        ),
        (
            json!([executor("a", "flaky", at_once.clone())]),
            Value::Null,
            json!({"n": 2}),
            "success",
            vec!["start a", "retry a", "retry a", "success a"],
        ),
        (
            json!([executor("a", "flaky", at_once.clone())]),
            Value::Null,
            json!({"n": 3}),
            "failure",
            vec!["start a", "retry a", "retry a", "exhausted a"],
        ),
        (
            // A fatal code is not retried, whatever else it is.
            json!([
                executor("a", "fails", at_once.clone()),
                executor("b", "echo", none.clone())
            ]),
            fatal.clone(),
            declined.clone(),
            "success",
            vec!["start a", "exhausted a", "start b", "success b"],
        ),
        (
            json!([executor("a", "fails", at_once.clone())]),
            both,
            declined.clone(),
            "failure",
            vec!["start a", "exhausted a"],
        ),
        (
            // A code in neither list is.
            json!([executor("a", "fails", at_once.clone())]),
            fatal,
            json!({"error": {"code": "OTHER", "message": "no"}}),
            "failure",
            vec!["start a", "retry a", "retry a", "exhausted a"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        // Each with breakers of its own.
        let name = format!("tries-{case}");
        let mut plan = json!({"executors": executors});
        if !errors.is_null() {
            plan["errors"] = errors;
        }
        let ended = flow.run(planned(&name, plan.clone()), input).await;
        assert_eq!(steps(&ended), events, "{plan}");
        assert_eq!(outcome(&ended), expected, "{plan}");
    }
}

/// 1.7.7.
#[tokio::test]
async fn a_fallback_stands_in_for_what_failed() {
    let flow = Flow::new().await;
    let executors = json!([
        executor("a", "fails", json!({})),
        executor("b", "echo", json!({}))
    ]);
    let failing = json!([
        executor("a", "fails", json!({})),
        executor("b", "fails", json!({}))
    ]);
    for (executors, fallback, events, expected) in [
        (
            &failing,
            json!({"value": "{\"kept\": true}"}),
            vec![
                "start a",
                "exhausted a",
                "start b",
                "exhausted b",
                "fallback_used",
            ],
            json!({"kept": true}),
        ),
        (
            &failing,
            json!({"value": {"kept": 1}, "condition": "exhausted"}),
            vec![
                "start a",
                "exhausted a",
                "start b",
                "exhausted b",
                "fallback_used",
            ],
            json!({"kept": 1}),
        ),
        (
            &executors,
            json!({"value": [1], "condition": "exhausted"}),
            vec!["start a", "exhausted a", "start b", "success b"],
            json!({"n": 1}),
        ),
        (
            &executors,
            json!({"value": [1], "condition": "any_error"}),
            vec!["start a", "exhausted a", "fallback_used"],
            json!([1]),
        ),
    ] {
        let plan = json!({"executors": executors, "fallback": fallback});
        let ended = flow.run(planned("falls", plan), json!({"n": 1})).await;
        let mut seen = steps(&ended);
        for event in &mut seen {
            if event.starts_with("fallback_used") {
                "fallback_used".clone_into(event);
            }
        }
        assert_eq!(seen, events, "{fallback}");
        assert_eq!(outcome(&ended), "success");
        assert_eq!(output(&ended), &expected, "{fallback}");
    }
}

async fn plan(flow: &Flow, name: &str) -> Value {
    let payload = json!({"definition": name, "plan": "p"});
    flow.connection.ok("PlanGetRequest", payload).await
}

async fn again(flow: &Flow, name: &str, input: Value) -> Ended {
    let id = flow.start(name, input).await;
    flow.ended(&id).await
}

/// 1.7.3: open after so many failures, half open after the cooldown, closed by a success.
#[tokio::test]
async fn a_breaker_opens_and_closes_again() {
    let flow = Flow::new().await;
    let breaker =
        json!({"breaker": {"failure_threshold": 2, "cooldown_ms": 300, "half_open_max_calls": 1}});
    let executors = json!([
        executor("a", "says", breaker),
        executor("b", "echo", json!({"priority": 1}))
    ]);
    flow.define(planned("breaks", json!({"executors": executors})))
        .await;
    let fails = json!({"success": false, "error": {"message": "no"}});
    let tried = ["start a", "exhausted a", "start b", "success b"];
    let skipped = ["breaker_skip a", "start b", "success b"];
    for expected in [&tried[..], &tried[..], &skipped[..]] {
        assert_eq!(
            steps(&again(&flow, "breaks", fails.clone()).await),
            expected
        );
    }
    let shown = plan(&flow, "breaks").await;
    assert_eq!(shown["executors"][0]["breaker"], "open", "{shown}");
    assert!(shown["executors"][0]["openUntil"].is_string(), "{shown}");
    // A failed probe opens it again.
    let probed = async {
        loop {
            if steps(&again(&flow, "breaks", fails.clone()).await) == tried {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, probed)
        .await
        .expect("a probe");
    assert_eq!(steps(&again(&flow, "breaks", fails).await), skipped);
    // One that succeeds closes it.
    let closed = async {
        loop {
            if steps(&again(&flow, "breaks", json!({})).await) == ["start a", "success a"] {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, closed)
        .await
        .expect("a probe");
    assert_eq!(
        plan(&flow, "breaks").await["executors"][0]["breaker"],
        "closed"
    );
}

/// 1.7.3: what follows a failed attempt without a delay is part of the same commit.
#[tokio::test]
async fn a_breaker_opens_before_the_next_attempt_without_a_delay() {
    let flow = Flow::new().await;
    let breaker = |threshold: u32| json!({"failure_threshold": threshold, "cooldown_ms": 600_000});
    for delay in [0, 5] {
        let retry = json!({"max_attempts": 5, "backoff": "constant", "initial_delay_ms": delay});
        let more = json!({"breaker": breaker(2), "retry": retry});
        let plan = json!({"executors": [executor("a", "fails", more)]});
        let ended = flow
            .run(planned(&format!("retries-{delay}"), plan), json!({}))
            .await;
        let expected = [
            "start a",
            "retry a",
            "retry a",
            "breaker_skip a",
            "exhausted a",
        ];
        assert_eq!(steps(&ended), expected, "{delay}");
        assert_eq!(ended.count("awaiting_action"), 2, "{delay}");
    }
    // The second pass of a plan.
    let more = json!({"breaker": breaker(1)});
    let mut document = planned(
        "passes",
        json!({"executors": [executor("a", "fails", more)]}),
    );
    let mut again = document["start"].clone();
    again["transitions"]["failure"] = "flo.Failed".into();
    document["steps"] = json!({"again": again});
    document["start"]["transitions"]["failure"] = "again".into();
    let ended = flow.run(document, json!({})).await;
    assert_eq!(steps(&ended), ["start a", "exhausted a", "breaker_skip a"]);
}

/// 1.7.4: an executor at its limit is passed over, without an effect on its breaker.
#[tokio::test]
async fn a_rate_limit_passes_an_executor_over() {
    let flow = Flow::new().await;
    let limit = json!({"rate_limit": {"max_per_minute": 1}});
    let executors = json!([
        executor("a", "echo", limit.clone()),
        executor("b", "echo", limit)
    ]);
    flow.define(planned("limits", json!({"executors": executors})))
        .await;
    for expected in [
        &["start a", "success a"][..],
        &["rate_limited a", "start b", "success b"][..],
        &["rate_limited a", "rate_limited b"][..],
    ] {
        let ended = again(&flow, "limits", json!({})).await;
        assert_eq!(steps(&ended), expected);
        if expected.len() == 2 && expected[0].starts_with("rate") {
            assert_eq!(outcome(&ended), "failure");
            assert_eq!(
                output(&ended)["error_code"],
                "rate_limited",
                "{}",
                ended.run
            );
        }
    }
    let shown = plan(&flow, "limits").await;
    for executor in shown["executors"].as_array().expect("a list") {
        assert_eq!(
            (&executor["breaker"], &executor["lastMinute"]),
            (&json!("closed"), &json!(1))
        );
        assert_eq!(executor["lastHour"], 1);
    }
}

/// 1.7.6: only successes are kept, by the key, until the time is over or an event names the plan.
#[tokio::test]
async fn a_cache_answers_for_its_key() {
    let flow = Flow::new().await;
    let cache = json!({"key": "{input.a.b}-{input.n}", "ttl_ms": 60_000, "invalidate_on": ["price.changed"]});
    let document = planned(
        "keeps",
        json!({"executors": [executor("x", "says", json!({}))], "cache": cache}),
    );
    flow.define(document).await;
    let input = |n: u64, outcome: &str| json!({"a": {"b": "k"}, "n": n, "outcome": outcome, "output": {"for": n}});
    for (asked, expected) in [
        (input(1, "success"), "success x"),
        (input(1, "success"), "cache_hit"),
        (input(2, "success"), "success x"),
        // What is not a success is not kept.
        (input(3, "fraud"), "start x"),
        (input(3, "success"), "success x"),
        // A placeholder without a value switches it off.
        (json!({"n": 1}), "success x"),
        (json!({"n": 1}), "success x"),
    ] {
        let ended = again(&flow, "keeps", asked.clone()).await;
        let seen = steps(&ended);
        let last = seen.last().expect("an event");
        assert!(last.starts_with(expected), "{asked}: {seen:?}");
        if expected == "cache_hit" {
            assert_eq!(output(&ended), &json!({"for": 1}));
            assert_eq!(ended.count("awaiting_action"), 0);
        }
    }
    assert_eq!(plan(&flow, "keeps").await["cacheEntries"], 3);
    let publish = |kind: &str| json!({"topic": "prices", "events": [{"payload": 1, "type": kind}]});
    let connection = &flow.connection;
    connection.ok("TopicPublishRequest", publish("other")).await;
    assert_eq!(plan(&flow, "keeps").await["cacheEntries"], 3);
    connection
        .ok("TopicPublishRequest", publish("price.changed"))
        .await;
    assert_eq!(plan(&flow, "keeps").await["cacheEntries"], 0);
    let ended = again(&flow, "keeps", input(1, "success")).await;
    assert_eq!(steps(&ended), ["start x", "success x"]);
}

/// 1.7.2 and 1.7.5.
#[tokio::test]
async fn a_selection_decides_who_is_first() {
    let flow = Flow::new().await;
    let first = |ended: &Ended| steps(ended)[0].replace("start ", "");
    let three = json!([
        executor("a", "echo", json!({})),
        executor("b", "echo", json!({})),
        executor("c", "echo", json!({}))
    ]);
    for (selection, expected) in [
        ("static-order", ["a", "a", "a", "a"]),
        ("round-robin", ["a", "b", "c", "a"]),
        ("round_robin", ["a", "b", "c", "a"]),
    ] {
        let name = selection.replace(['-', '_'], if selection.contains('_') { "u" } else { "h" });
        flow.define(planned(
            &name,
            json!({"selection": selection, "executors": three}),
        ))
        .await;
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(first(&again(&flow, &name, json!({})).await));
        }
        assert_eq!(seen, expected, "{selection}");
    }
    flow.define(planned(
        "random",
        json!({"selection": "random", "executors": three}),
    ))
    .await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        seen.insert(first(&again(&flow, "random", json!({})).await));
        if seen.len() == 3 {
            break;
        }
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
    // Until there are enough samples, by priority; then by what they have shown.
    let two = json!([
        executor("a", "fails", json!({})),
        executor("b", "echo", json!({"priority": 1}))
    ]);
    let health = json!({"min_samples": 4, "decay": 1.0});
    flow.define(planned(
        "weighs",
        json!({"selection": "health-weighted", "executors": two, "health": health}),
    ))
    .await;
    for expected in ["a", "a", "b", "b"] {
        assert_eq!(first(&again(&flow, "weighs", json!({})).await), expected);
    }
    let shown = plan(&flow, "weighs").await;
    let (a, b) = (&shown["executors"][0], &shown["executors"][1]);
    // It answered each time, and failed each time: 0.7 · 1 + 0.3 · 0.
    assert_eq!(
        (&a["apiRate"], &a["businessRate"]),
        (&json!(1.0), &json!(0.0)),
        "{shown}"
    );
    assert!(
        (a["score"].as_f64().expect("a number") - 0.7).abs() < 1e-9,
        "{shown}"
    );
    assert_eq!(
        (&b["score"], &b["samples"]),
        (&json!(1.0), &json!(4)),
        "{shown}"
    );
    assert_eq!(a["samples"], 2, "{shown}");
}

/// 1.7.9: an accepting answer parks the run; the outcome is reported later, or the time is over.
#[tokio::test]
async fn a_tracked_attempt_waits_for_its_outcome() {
    let flow = Flow::new().await;
    let pending = json!({"outcome": "pending"});
    let tracking = json!({"tracking": {"mode": "async", "timeout_ms": 60}});
    let executors = json!([
        executor("a", "says", tracking),
        executor("b", "echo", json!({}))
    ]);
    let ended = flow
        .run(
            planned("tracks", json!({"executors": executors})),
            pending.clone(),
        )
        .await;
    assert_eq!(
        steps(&ended),
        ["start a", "exhausted a", "start b", "success b"]
    );
    let waited = ended.waited("awaiting_action", "plan_executor_exhausted");
    assert!(waited >= Duration::from_millis(60), "{waited:?}");
    let tracking = json!({"tracking": {"mode": "async"}});
    let executors = json!([
        executor("a", "says", tracking),
        executor("b", "echo", json!({}))
    ]);
    flow.define(planned("reports", json!({"executors": executors})))
        .await;
    for (outcome, expected) in [
        ("success", &["start a", "success a"][..]),
        (
            "failure",
            &["start a", "exhausted a", "start b", "success b"][..],
        ),
        ("fraud", &["start a"][..]),
    ] {
        let id = flow.start("reports", pending.clone()).await;
        let complete = json!({"taskId": format!("{id}.1"), "outcome": outcome});
        let complete = async {
            loop {
                let run = flow.waits(&id, "task").await;
                assert_eq!(run["status"], "waiting");
                let task = json!({"taskId": format!("{id}.1")});
                let task = flow.connection.ok("TaskGetRequest", task).await;
                // It was accepted once nobody has it.
                if task["task"]["status"] == "running" && task["task"]["takenBy"].is_null() {
                    return flow
                        .connection
                        .ok("TaskCompleteRequest", complete.clone())
                        .await;
                }
                between_looks().await;
            }
        };
        let completed = tokio::time::timeout(PATIENCE, complete)
            .await
            .expect("accepted");
        assert_eq!(completed["applied"], true);
        assert_eq!(steps(&flow.ended(&id).await), expected, "{outcome}");
    }
}

/// 1.7.4: transitions that signal runs take permits like any other arrival.
#[tokio::test]
async fn a_rate_limit_holds_for_runs_that_transitions_signal() {
    let flow = Flow::new().await;
    let limit = json!({"rate_limit": {"max_per_hour": 1}});
    let plan = json!({"executors": [executor("a", "echo", limit)]});
    let waits = json!({"waitForSignal": {"type": "go"}, "transitions": {"success": "pay"}});
    let ways = json!({"success": "flo.Completed", "failure": "flo.Failed"});
    let pays = json!({"pay": {"run": "@plan/p", "transitions": ways}});
    let mut document = workflow("told", waits, pays);
    document["plans"] = json!({"p": plan});
    document["idempotency"] = json!("optional");
    flow.define(document).await;
    let processor =
        |kind: &str, config: Value| json!([{"type": kind, "name": kind, "config": config}]);
    let states = json!({"version": "1", "name": "orders", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "start", "next": "OPEN", "manual": true,
            "processors": processor("run", json!({"definition": "told"}))}]},
        "OPEN": {"transitions": [{"name": "tell", "next": "DONE", "manual": true,
            "processors": processor("signal", json!({"signal": "go"}))}]},
        "DONE": {}}});
    let connection = &flow.connection;
    let model = governed_model(connection, "order", json!({"n": 1}), states).await;
    for expected in [&["start a", "success a"][..], &["rate_limited a"][..]] {
        let entity = create(connection, &model, json!({"n": 1})).await;
        let take = |name: &str| json!({"entityId": entity, "transition": name});
        connection
            .ok("EntityTransitionRequest", take("start"))
            .await;
        let page = connection
            .ok("RunsGetRequest", json!({"entityId": entity}))
            .await;
        let run = page["items"][0]["runId"]
            .as_str()
            .expect("an id")
            .to_owned();
        flow.waits(&run, "signal").await;
        connection.ok("EntityTransitionRequest", take("tell")).await;
        assert_eq!(steps(&flow.ended(&run).await), expected);
    }
}
