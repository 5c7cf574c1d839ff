//! Why an entity did or did not move: in the past, now, and if it were so (`stream.md` §3).

use serde_json::{Value, json};

use crate::support::{Member, Reply, Server, command, create, get, governed_model, state};

fn simple(path: &str, operator: &str, value: Value) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value})
}

/// Orders above 100 are held, if they are not of a friend.
fn orders() -> Value {
    let large = simple("$.total", "GREATER_THAN", json!(100));
    let stranger = simple("$.friend", "EQUALS", json!(false));
    let hold = json!({"type": "group", "operator": "AND", "conditions": [large, stranger]});
    json!({"version": "1", "name": "orders", "initialState": "NEW",
        "criterion": simple("$.total", "NOT_NULL", Value::Null),
        "states": {
            "NEW": {"transitions": [
                {"name": "hold", "next": "HELD", "manual": false, "criterion": hold},
                {"name": "large", "next": "DONE", "manual": true, "criterion": simple("$.total", "GREATER_OR_EQUAL", json!(50.5))},
                {"name": "off", "next": "DONE", "manual": true, "disabled": true}]},
            "HELD": {}, "DONE": {}}})
}

#[tokio::test]
async fn an_entity_that_stays_is_explained_leaf_by_leaf() {
    let server = Server::start();
    let connection = server.connect().await;
    let sample = json!({"total": 1.5, "friend": true});
    let model = governed_model(&connection, "order", sample, orders()).await;
    let id = create(
        &connection,
        &model,
        json!({"total": 20.50, "friend": false}),
    )
    .await;
    let before = get(&connection, &id).await;
    let reported = connection
        .ok("WorkflowExplainRequest", json!({"entityId": id}))
        .await;
    assert_eq!(reported["state"], "NEW");
    let ways = reported["transitions"].as_array().expect("a list");
    let why: Vec<_> = ways
        .iter()
        .map(|way| {
            (
                way["name"].as_str(),
                way["open"].as_bool(),
                way["why"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        why,
        [
            (
                Some("hold"),
                Some(false),
                Some("its criterion does not hold: $.total GREATER_THAN 100: the value is 20.5")
            ),
            (
                Some("large"),
                Some(false),
                Some(
                    "its criterion does not hold: $.total GREATER_OR_EQUAL 50.5: the value is 20.5"
                )
            ),
            (Some("off"), Some(false), Some("it is disabled")),
        ]
    );
    assert_eq!(
        ways[0]["criterion"],
        json!({"group": "AND", "held": false, "conditions": [
            {"path": "$.total", "operator": "GREATER_THAN", "operand": 100, "held": false, "seen": "20.5"},
            {"path": "$.friend", "operator": "EQUALS", "operand": false, "held": null}]})
    );
    assert_eq!(reported["runs"][0]["settled"], "NEW");
    assert_eq!(
        get(&connection, &id).await,
        before,
        "explaining changes nothing"
    );
    // The same over REST, and of one transition.
    let rest = server.rest();
    let reported = rest
        .get(&format!("/api/entity/{id}/explain?transition=large"))
        .await
        .ok();
    assert_eq!(reported["transitions"].as_array().expect("a list").len(), 1);
    assert!(
        reported["runs"][0]["stopped"]
            .as_str()
            .expect("a text")
            .contains("criterion not matched"),
        "{reported}"
    );
}

#[tokio::test]
async fn what_happened_is_explained_by_what_was_seen_then() {
    let server = Server::start();
    let connection = server.connect().await;
    let sample = json!({"total": 1.5, "friend": true});
    let model = governed_model(&connection, "order", sample, orders()).await;
    let id = create(&connection, &model, json!({"total": 500, "friend": false})).await;
    let made = get(&connection, &id).await;
    assert_eq!(state(&made), "HELD");
    // The definition of then counts, not that of now.
    let other = json!({"version": "1", "name": "orders", "initialState": "X", "states": {"X": {}}});
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "importMode": "REPLACE", "workflows": [other]}),
        )
        .await;
    let reported = connection
        .ok(
            "WorkflowExplainRequest",
            json!({"entityId": id, "transactionId": made["meta"]["transactionId"]}),
        )
        .await;
    let run = &reported["runs"][0];
    assert_eq!(
        (&run["start"], &run["settled"]),
        (&json!("create"), &json!("HELD"))
    );
    assert_eq!(run["workflow"]["name"], "orders");
    let step = &run["steps"][0];
    assert_eq!(
        (&step["took"], &step["next"]),
        (&json!("hold"), &json!("HELD"))
    );
    let considered = &step["considered"][0];
    assert_eq!(considered["held"], true);
    assert_eq!(considered["criterion"]["conditions"][1]["seen"], "false");
    let unknown = connection
        .fails(
            "WorkflowExplainRequest",
            json!({"entityId": id, "transactionId": "00000000-0000-0000-0000-000000000001"}),
        )
        .await;
    assert_eq!(unknown, "ENTITY_NOT_FOUND");
}

#[tokio::test]
async fn what_would_happen_is_what_then_happens() {
    let server = Server::start();
    let connection = server.connect().await;
    let sample = json!({"total": 1.5, "friend": true});
    let model = governed_model(&connection, "order", sample, orders()).await;
    let rest = server.rest();
    for (total, friend) in [(500, false), (500, true), (5, false)] {
        let data = json!({"total": total, "friend": friend});
        let reported = rest
            .post(
                "/api/model/order/1/workflow/explain",
                json!({"data": data}).to_string(),
            )
            .await
            .ok();
        let id = create(&connection, &model, data).await;
        assert_eq!(
            reported["runs"][0]["settled"],
            state(&get(&connection, &id).await),
            "{reported}"
        );
    }
    let data = json!({"total": 70, "friend": true});
    let reported = connection
        .ok(
            "WorkflowExplainRequest",
            json!({"model": model, "data": data, "state": "NEW", "transition": "large"}),
        )
        .await;
    assert_eq!(reported["runs"][0]["settled"], "DONE");
    let strange = json!({"model": model, "data": {"friend": true}});
    let reported = connection.ok("WorkflowExplainRequest", strange).await;
    let skipped = &reported["runs"][0]["skippedWorkflows"][0];
    assert_eq!(
        (&skipped["name"], &skipped["because"]),
        (
            &json!("orders"),
            &json!("$.total NOT_NULL null: there is no value")
        )
    );
    for (data, refused) in [
        (json!({"colour": 1}), "BAD_REQUEST"),
        (json!({"total": "x", "friend": true}), "INCOMPATIBLE_TYPE"),
    ] {
        let supposed = json!({"model": model, "data": data});
        assert_eq!(
            connection.fails("WorkflowExplainRequest", supposed).await,
            refused
        );
    }
    for wrong in [
        json!({}),
        json!({"model": model}),
        json!({"entityId": "x", "model": model, "data": {}}),
    ] {
        assert_eq!(
            connection
                .fails("WorkflowExplainRequest", wrong.clone())
                .await,
            "BAD_REQUEST",
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn nobody_is_asked_for_an_explanation() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &["judge"]).await;
    let mut calls = member
        .record(|_| Reply::Raw(json!({"success": true, "matches": false, "reason": "not today"})));
    let asked = json!({"type": "function", "function": {"name": "may", "config": {"calculationNodesTags": "judge"}}});
    let workflow = json!({"version": "1", "name": "w", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "go", "next": "DONE", "manual": false, "criterion": asked}]}, "DONE": {}}});
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    calls.recv().await.expect("a call");
    let reported = connection
        .ok("WorkflowExplainRequest", json!({"entityId": id}))
        .await;
    assert_eq!(reported["transitions"][0]["open"], Value::Null);
    assert_eq!(
        reported["runs"][0]["stopped"],
        "on transition go to DONE, it depends on function may"
    );
    let transaction = get(&connection, &id).await["meta"]["transactionId"].clone();
    let reported = connection
        .ok(
            "WorkflowExplainRequest",
            json!({"entityId": id, "transactionId": transaction}),
        )
        .await;
    assert_eq!(
        reported["runs"][0]["steps"][0]["considered"][0]["because"],
        "not today"
    );
    assert!(calls.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_it_in_words() {
    let server = Server::start();
    let connection = server.connect().await;
    let sample = json!({"total": 1.5, "friend": true});
    let model = governed_model(&connection, "order", sample, orders()).await;
    let id = create(&connection, &model, json!({"total": 500, "friend": true})).await;
    let transaction = get(&connection, &id).await["meta"]["transactionId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let address = server.grpc.to_string();
    let explain = |arguments: &[&str]| {
        let folder = server.folder();
        let output = command(&folder, &[])
            .args(["explain", &id, "--address", &address])
            .args(arguments)
            .output()
            .expect("runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        (output.status.code(), text)
    };
    let (code, text) = explain(&[]);
    assert_eq!(code, Some(0));
    for line in [
        "state NEW",
        "  - hold -> HELD (automated): its criterion does not hold: $.friend EQUALS false: the value is true",
        "      - AND",
        "        + $.total GREATER_THAN 100, seen 500",
        "        - $.friend EQUALS false, seen true",
        "  + large -> DONE (manual): taken when a request names it",
        "  - off -> DONE (disabled): it is disabled",
        "  ends in NEW",
    ] {
        let found = text.lines().any(|said| said == line);
        assert!(found, "{line}\n{text}");
    }
    let (code, text) = explain(&["--transaction", &transaction]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("workflow orders: it is the first that matches the entity"),
        "{text}"
    );
    let (code, text) = explain(&["--json", "--transition", "large"]);
    assert_eq!(code, Some(0));
    let reported: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(reported["runs"][0]["settled"], "DONE");
    assert_eq!(explain(&["--transaction", "x"]).0, Some(1));
}

#[tokio::test]
async fn a_call_that_took_more_than_one_attempt_says_how_many() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let processor =
        json!({"name": "p", "executionMode": "SYNC", "config": {"retryPolicy": "FIXED"}});
    let workflow = json!({"version": "1", "name": "w", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "go", "next": "B", "manual": false, "processors": [processor]}]},
        "B": {}}});
    let model = governed_model(&connection, "order", json!({"n": 1}), workflow).await;
    let making = create(&connection, &model, json!({"n": 1}));
    let serving = async {
        let error = json!({"code": "X", "message": "later", "retryable": true});
        for reply in [
            Reply::Raw(json!({"success": false, "error": error})),
            Reply::Nothing,
        ] {
            let call = member.next().await;
            member.reply(&call, reply).await;
        }
    };
    let (id, ()) = tokio::join!(making, serving);
    let made = get(&connection, &id).await;
    let reported = connection
        .ok(
            "WorkflowExplainRequest",
            json!({"entityId": id, "transactionId": made["meta"]["transactionId"]}),
        )
        .await;
    let calls = &reported["runs"][0]["steps"][0]["calls"];
    assert_eq!(*calls, json!(["p succeeded (2 attempts)"]));
}
