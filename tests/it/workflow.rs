//! Workflows: import, export, and how entities move (`workflow-engine.md` §4, §5 and §7).

use serde_json::{Value, json};

use crate::support::{Server, create, get, governed_model, locked_model, new_entity, state};

fn flag() -> Value {
    json!({"type": "simple", "jsonPath": "$.ok", "operatorType": "EQUALS", "value": true})
}

fn ends_in(name: &str, state: &str) -> Value {
    json!({"version": "1", "name": name, "initialState": state, "states": {state: {}}})
}

#[tokio::test]
async fn without_workflows_an_entity_is_created_by_the_built_in_one() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "plain", json!({"n": 1})).await;
    let made = connection
        .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    assert!(
        made["warnings"][0]
            .as_str()
            .expect("a warning")
            .starts_with("no workflows imported for model")
    );
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    let entity = get(&connection, id).await;
    assert_eq!(
        (state(&entity), &entity["meta"]["transitionForLatestSave"]),
        ("CREATED", &json!("loopback"))
    );
    assert_eq!(
        connection
            .fails("EntityWorkflowExportRequest", json!({"model": model}))
            .await,
        "WORKFLOW_NOT_FOUND"
    );
}

#[tokio::test]
async fn the_first_workflow_whose_criterion_holds_is_chosen_and_kept() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"ok": true})).await;
    let mut first = json!({"version": "1", "name": "first", "initialState": "S", "states":
        {"S": {"transitions": [{"name": "GO", "next": "T", "manual": true}]}, "T": {}}});
    first["criterion"] = flag();
    let second = json!({"version": "1", "name": "second", "initialState": "S", "states":
        {"S": {"transitions": [{"name": "ELSE", "next": "U", "manual": true}]}, "U": {}}});
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [first, second]}),
        )
        .await;
    let chosen = create(&connection, &model, json!({"ok": true})).await;
    let other = create(&connection, &model, json!({"ok": false})).await;
    let names = async |id: &str| {
        connection
            .ok("EntityTransitionsGetRequest", json!({"entityId": id}))
            .await["transitions"]
            .clone()
    };
    assert_eq!(
        (names(&chosen).await, names(&other).await),
        (json!(["GO"]), json!(["ELSE"]))
    );
    // The choice is remembered, whatever the data says later.
    connection
        .ok(
            "EntityUpdateRequest",
            json!({"dataFormat": "JSON", "payload": {"entityId": other, "data": {"ok": true}}}),
        )
        .await;
    assert_eq!(names(&other).await, json!(["ELSE"]));
    // Until that workflow is gone.
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "importMode": "REPLACE", "workflows": [first]}),
        )
        .await;
    assert_eq!(names(&other).await, json!(["GO"]));
    connection
        .ok(
            "EntityTransitionRequest",
            json!({"entityId": other, "transition": "GO"}),
        )
        .await;
    assert_eq!(state(&get(&connection, &other).await), "T");
}

#[tokio::test]
async fn the_first_automated_transition_whose_guard_holds_fires() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = json!({"version": "1", "name": "w", "initialState": "A", "states": {
        "A": {"transitions": [
            {"name": "T0", "next": "X", "manual": false, "disabled": true},
            {"name": "T1", "next": "X", "manual": false, "criterion": flag()},
            {"name": "T2", "next": "B", "manual": false},
            {"name": "T3", "next": "X", "manual": false}]},
        "B": {}, "X": {}}});
    let model = governed_model(&connection, "doc", json!({"ok": true}), workflow).await;
    let id = create(&connection, &model, json!({"ok": false})).await;
    assert_eq!(state(&get(&connection, &id).await), "B");
}

#[tokio::test]
async fn cascades_end_at_their_limits_and_leave_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let guard = json!({"type": "lifecycle", "field": "state", "operatorType": "NOT_NULL"});
    let looping = json!({"version": "1", "name": "w", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "T", "next": "B", "manual": false, "criterion": guard}]},
        "B": {"transitions": [{"name": "T", "next": "A", "manual": false, "criterion": guard}]}}});
    let model = governed_model(&connection, "loop", json!({"n": 1}), looping).await;
    let answer = connection
        .call("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    assert_eq!(
        answer["error"]["message"],
        "WORKFLOW_FAILED: state machine aborted: state \"A\" visited 11 times (limit: 10)"
    );

    let chain = |length: usize| {
        let mut states = serde_json::Map::new();
        for n in 0..length {
            states.insert(format!("S{n}"), json!({"transitions": [{"name": "T", "next": format!("S{}", n + 1), "manual": false}]}));
        }
        states.insert(format!("S{length}"), json!({}));
        json!({"version": "1", "name": "w", "initialState": "S0", "states": states})
    };
    let deep = governed_model(&connection, "deep", json!({"n": 1}), chain(101)).await;
    let answer = connection
        .call("EntityCreateRequest", new_entity(&deep, &json!({"n": 1})))
        .await;
    assert_eq!(
        answer["error"]["message"],
        "WORKFLOW_FAILED: state machine aborted: cascade depth exceeded (100) at state \"S100\""
    );
    let long = governed_model(&connection, "long", json!({"n": 1}), chain(99)).await;
    let id = create(&connection, &long, json!({"n": 1})).await;
    assert_eq!(state(&get(&connection, &id).await), "S99");
    for model in [model, deep] {
        assert!(
            connection
                .all("EntityGetAllRequest", json!({"model": model}))
                .await
                .0
                .is_empty()
        );
    }
}

#[tokio::test]
async fn an_unguarded_loop_is_refused_with_its_path_unless_it_is_asked_for() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let looping = json!({"version": "1", "name": "W", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "T", "next": "B", "manual": false}]},
        "B": {"transitions": [{"name": "T", "next": "A", "manual": false}]}}});
    let import = json!({"model": model, "workflows": [looping]});
    let refused = connection.call("EntityWorkflowImportRequest", import).await;
    let message = refused["error"]["message"].as_str().expect("a message");
    assert!(
        message.starts_with(
            "VALIDATION_FAILED: workflow \"W\": infinite loop detected: A -> B -> A via unguarded"
        ),
        "{message}"
    );
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "allowCycles": true, "workflows": [looping]}),
        )
        .await;
}

#[tokio::test]
async fn a_named_transition_needs_its_guard_which_sees_the_new_data() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = json!({"version": "1", "name": "w", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "M", "next": "B", "manual": true, "criterion": flag()}]}, "B": {}}});
    let model = governed_model(&connection, "doc", json!({"ok": true, "n": 1}), workflow).await;
    let id = create(&connection, &model, json!({"ok": false, "n": 1})).await;
    let put = |data: Value| json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": data, "transition": "M"}});
    let refused = connection
        .call("EntityUpdateRequest", put(json!({"ok": false, "n": 2})))
        .await;
    assert_eq!(
        refused["error"]["message"],
        "WORKFLOW_FAILED: transition \"M\" criterion not matched"
    );
    assert_eq!(get(&connection, &id).await["data"]["n"], 1);
    connection
        .ok("EntityUpdateRequest", put(json!({"ok": true, "n": 3})))
        .await;
    let moved = get(&connection, &id).await;
    assert_eq!(
        (state(&moved), &moved["meta"]["transitionForLatestSave"]),
        ("B", &json!("M"))
    );
    for (transition, reported) in [
        ("M", "is not defined in state `B`"),
        ("NOPE", "is not defined in state `B`"),
    ] {
        let answer = connection
            .call(
                "EntityTransitionRequest",
                json!({"entityId": id, "transition": transition}),
            )
            .await;
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(
            message.starts_with("TRANSITION_NOT_FOUND: ") && message.contains(reported),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_plain_save_cascades_from_where_the_entity_is() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = json!({"version": "1", "name": "w", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "T", "next": "B", "manual": false, "criterion": flag()}]}, "B": {}}});
    let model = governed_model(&connection, "doc", json!({"ok": true}), workflow).await;
    let id = create(&connection, &model, json!({"ok": false})).await;
    assert_eq!(state(&get(&connection, &id).await), "A");
    connection
        .ok(
            "EntityUpdateRequest",
            json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"ok": true}}}),
        )
        .await;
    let moved = get(&connection, &id).await;
    assert_eq!(
        (state(&moved), &moved["meta"]["transitionForLatestSave"]),
        ("B", &json!("loopback"))
    );
}

#[tokio::test]
async fn of_two_concurrent_transitions_one_commits() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = json!({"version": "1", "name": "w", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "M", "next": "B", "manual": true}]}, "B": {}}});
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    for _ in 0..20 {
        let id = create(&connection, &model, json!({"n": 1})).await;
        let go = || {
            connection.call(
                "EntityTransitionRequest",
                json!({"entityId": id, "transition": "M"}),
            )
        };
        let (one, other) = tokio::join!(go(), go());
        let winners = [&one, &other]
            .iter()
            .filter(|answer| answer["success"] == true)
            .count();
        assert_eq!(winners, 1, "{one} {other}");
        let loser = if one["success"] == true { &other } else { &one };
        // Refused at the commit, or begun only after it.
        let code = crate::support::code(loser);
        assert!(
            code == "CONFLICT" && loser["error"]["retryable"] == true
                || code == "TRANSITION_NOT_FOUND",
            "{loser}"
        );
    }
}

#[tokio::test]
async fn imports_change_the_list_as_their_mode_says() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let import = async |mode: Option<&str>, workflows: Value| {
        let mut payload = json!({"model": model, "workflows": workflows});
        if let Some(mode) = mode {
            payload["importMode"] = json!(mode);
        }
        connection.ok("EntityWorkflowImportRequest", payload).await
    };
    let listed = async || {
        let exported = connection
            .ok("EntityWorkflowExportRequest", json!({"model": model}))
            .await;
        let workflows = exported["workflows"].as_array().expect("a list").clone();
        workflows
            .iter()
            .map(|workflow| {
                format!(
                    "{}{}",
                    workflow["name"].as_str().expect("a name"),
                    if workflow["active"] == true { "" } else { "-" }
                )
            })
            .collect::<Vec<_>>()
    };
    let imported = import(None, json!([ends_in("w1", "A")])).await;
    assert_eq!(imported["workflows"], json!(["w1"]));
    import(
        Some("merge"),
        json!([ends_in("w2", "A"), ends_in("w1", "B")]),
    )
    .await;
    assert_eq!(listed().await, ["w1", "w2"]);
    import(Some("ACTIVATE"), json!([ends_in("w2", "A")])).await;
    assert_eq!(listed().await, ["w1-", "w2"]);
    // What is imported is active, whatever it says of itself (`workflow-engine.md` §4.2).
    let mut sleeping = ends_in("w3", "A");
    sleeping["active"] = json!(false);
    import(Some("REPLACE"), json!([sleeping])).await;
    assert_eq!(listed().await, ["w3"]);
    import(Some("REPLACE"), json!([])).await;
    assert_eq!(
        connection
            .fails("EntityWorkflowExportRequest", json!({"model": model}))
            .await,
        "WORKFLOW_NOT_FOUND"
    );
    for (payload, code) in [
        (
            json!({"model": model, "importMode": "SHUFFLE", "workflows": []}),
            "BAD_REQUEST",
        ),
        (
            json!({"model": model, "importMode": "REPLACE", "workflow": [ends_in("w", "A")]}),
            "BAD_REQUEST",
        ),
        (
            json!({"model": {"name": "no", "version": 1}, "workflows": []}),
            "MODEL_NOT_FOUND",
        ),
        (
            json!({"model": model, "workflows": [ends_in("w", "A"), ends_in("w", "B")]}),
            "VALIDATION_FAILED",
        ),
    ] {
        assert_eq!(
            connection
                .fails("EntityWorkflowImportRequest", payload.clone())
                .await,
            code,
            "{payload}"
        );
    }
}

#[tokio::test]
async fn what_is_exported_is_what_was_imported_without_what_says_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let workflow = json!({
    "version": "1.0", "name": "w", "desc": "", "initialState": "A", "active": true, "criterion": {},
    "annotations": {"owner": "me"},
    "states": {
        "B": {"transitions": []},
        "A": {"transitions": [{
            "name": "T", "next": "B", "manual": true, "disabled": false, "processors": [], "criterion": null},
            {"name": "U", "next": "B", "manual": false, "disabled": true,
             "criterion": {"type": "simple", "jsonPath": "$.n", "operation": "EQUALS", "value": 1},
             "processors": [{"type": "EXTERNAL", "name": "p", "executionMode": "SYNC",
                "config": {"attachEntity": false, "calculationNodesTags": "a,b", "responseTimeoutMs": 0, "context": ""}}]}]}
    }});
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [workflow]}),
        )
        .await;
    let exported = connection
        .ok("EntityWorkflowExportRequest", json!({"model": model}))
        .await["workflows"]
        .clone();
    assert_eq!(
        exported,
        json!([{"version": "1.0", "name": "w", "initialState": "A", "active": true, "annotations": {"owner": "me"}, "states": {
            "A": {"transitions": [
                {"name": "T", "next": "B", "manual": true},
                {"name": "U", "next": "B", "manual": false, "disabled": true,
                 "criterion": {"type": "simple", "jsonPath": "$.n", "operation": "EQUALS", "value": 1},
                 "processors": [{"type": "EXTERNAL", "name": "p", "executionMode": "SYNC",
                    "config": {"attachEntity": false, "calculationNodesTags": "a,b"}}]}]},
            "B": {}}}])
    );
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "importMode": "REPLACE", "workflows": exported}),
        )
        .await;
    assert_eq!(
        connection
            .ok("EntityWorkflowExportRequest", json!({"model": model}))
            .await["workflows"],
        exported
    );
}

#[tokio::test]
async fn every_fault_of_a_definition_is_reported_with_its_place() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let with = |transition: Value| json!({"name": "w", "initialState": "A", "states": {"A": {"transitions": [transition]}}});
    let processor = |processor: Value| {
        with(json!({"name": "t", "next": "A", "manual": true, "processors": [processor]}))
    };
    for (workflow, reported) in [
        (
            json!({"name": "w", "initialState": "Z", "states": {"A": {}}}),
            "`initialState` is `Z`",
        ),
        (
            with(json!({"name": "t", "next": "Q", "manual": true})),
            "workflow \"w\", state \"A\", transition \"t\": `next` is `Q`",
        ),
        (
            with(json!({"name": "t", "next": "A"})),
            "`manual` is missing",
        ),
        (
            with(json!({"name": "t", "next": "A", "manual": true, "schedule": {"delayMs": 5}})),
            "manual and scheduled are mutually exclusive",
        ),
        (
            processor(json!({"name": "p", "type": "scheduled"})),
            "processor \"p\": `config.transition` is missing",
        ),
        (
            processor(json!({"name": "p", "executionMode": "SYNC", "type": "calculator"})),
            "`type` is `calculator`",
        ),
        (
            processor(json!({"name": "p", "executionMode": "SYNC", "startNewTxOnDispatch": true})),
            "`startNewTxOnDispatch`",
        ),
        (
            with(
                json!({"name": "t", "next": "A", "manual": true, "criterion": {"type": "function", "function": {}}}),
            ),
            "`criterion`",
        ),
        (
            with(
                json!({"name": "t", "next": "A", "manual": true, "criterion": {"type": "lifecycle", "field": "colour", "operatorType": "IS_NULL"}}),
            ),
            "unknown lifecycle field",
        ),
        (
            with(
                json!({"name": "t", "next": "A", "manual": true, "criterion": {"type": "lifecycle", "field": "creationDate", "operatorType": "GREATER_THAN", "value": "soon"}}),
            ),
            "creationDate: `soon`",
        ),
        (
            with(
                json!({"name": "t", "next": "A", "manual": true, "criterion": {"type": "function", "function": {"name": "f", "criterion":
                    {"type": "group", "operator": "OR", "conditions": [{"type": "simple", "jsonPath": "$.n", "operatorType": "MATCHES_PATTERN", "value": "("}]}}}}),
            ),
            "does not compile",
        ),
        (
            with(json!({"name": "t", "next": "A", "manual": false, "schedule": {}})),
            "exactly one of schedule.delayMs or schedule.function is required",
        ),
        (
            with(json!({"name": "t", "next": "A", "manual": false, "schedule": {"delayMs": 0}})),
            "delayMs",
        ),
        (
            with(
                json!({"name": "t", "next": "A", "manual": false, "schedule": {"delayMs": 5, "function": {"name": "f", "resultKind": "Schedule", "calculationNodesTags": "a"}}}),
            ),
            "exactly one of schedule.delayMs or schedule.function is required",
        ),
        (
            with(
                json!({"name": "t", "next": "A", "manual": false, "schedule": {"function": {"name": "f", "resultKind": "Schedule"}}}),
            ),
            "calculationNodesTags",
        ),
        (
            with(
                json!({"name": "t", "next": "A", "manual": false, "schedule": {"function": {"name": "f", "resultKind": "Moon", "calculationNodesTags": "a"}}}),
            ),
            "resultKind",
        ),
        (
            with(json!({"name": "t", "next": "A", "manual": false, "schedule": {"delayMs": 5}})),
            "infinite loop detected: A -> A",
        ),
        (
            processor(
                json!({"name": "p", "type": "scheduled", "config": {"delayMs": -1, "transition": "t"}}),
            ),
            "delayMs",
        ),
        (
            processor(json!({"name": "p", "type": "internalized"})),
            "`type` is `internalized`",
        ),
        (
            with(
                json!({"name": "t", "next": "A", "manual": true, "annotations": {"a": "x".repeat(65_536)}}),
            ),
            "annotations",
        ),
        (
            json!({"name": "w", "initialState": "A", "states": {"A": {"transitions": [
                {"name": "t", "next": "A", "manual": true}, {"name": "t", "next": "A", "manual": true}]}}}),
            "transition \"t\"",
        ),
    ] {
        let answer = connection
            .call(
                "EntityWorkflowImportRequest",
                json!({"model": model, "workflows": [workflow]}),
            )
            .await;
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(
            message.starts_with("VALIDATION_FAILED: ") && message.contains(reported),
            "{workflow}: {message}"
        );
    }
    let odd = json!({"name": "w", "initialState": "A", "colour": 1, "states": {"A": {"transitions": [
        {"name": "t", "next": "A", "manual": true, "processors": [{"name": "p", "executionMode": "SOMETIME"}]}]}}});
    let imported = connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [odd]}),
        )
        .await;
    assert_eq!(
        imported["warnings"].as_array().expect("warnings").len(),
        2,
        "{imported}"
    );
}

#[tokio::test]
async fn an_import_warns_of_what_its_author_cannot_have_meant() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"total": 1, "tags": ["a"]})).await;
    let total = |operator: &str, value: Value| json!({"type": "simple", "jsonPath": "$.total", "operatorType": operator, "value": value});
    let both = json!({"type": "group", "operator": "AND", "conditions": [total("GREATER_THAN", json!(5)), total("LESS_THAN", json!(3))]});
    let workflow = json!({"version": "1", "name": "w", "initialState": "NEW", "states": {
        "NEW": {"transitions": [
            {"name": "range", "next": "DONE", "manual": false, "criterion": both},
            {"name": "type", "next": "DONE", "manual": false, "criterion": total("EQUALS", json!("many"))},
            {"name": "unknown", "next": "DONE", "manual": false, "criterion":
                {"type": "simple", "jsonPath": "$.other", "operatorType": "EQUALS", "value": "many"}},
            {"name": "go", "next": "DONE", "manual": false},
            {"name": "late", "next": "DONE", "manual": false}]},
        "DONE": {},
        "LOST": {}}});
    let reported = json!([
        "workflow \"w\", state \"NEW\", transition \"range\": the criterion can never hold, so the transition is never taken: $.total > 5 and $.total < 3 exclude each other",
        "workflow \"w\", state \"NEW\", transition \"type\": the criterion can never hold, so the transition is never taken: $.total = \"many\": `many` is not a value of INTEGER",
        "workflow \"w\", state \"LOST\": no transition that can be taken leads here from the initial state \"NEW\"; add one, or remove the state",
        "workflow \"w\", state \"NEW\", transition \"late\": it never fires by itself, because \"go\" precedes it and has no criterion; give \"go\" one, or put it last",
        "workflow \"w\", state \"NEW\", transition \"unknown\": in the criterion, $.other is a field that the model does not have, so it counts as missing",
    ]);
    let imported = connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [workflow]}),
        )
        .await;
    assert_eq!(imported["warnings"], reported);
    let over_rest = server
        .rest()
        .post(
            "/api/model/doc/1/workflow/import",
            json!({"workflows": [workflow]}).to_string(),
        )
        .await
        .ok();
    assert_eq!(over_rest, json!({"success": true, "warnings": reported}));
    // One that is never chosen, and more than anyone would read.
    let states: serde_json::Map<_, _> = (0..200).map(|n| (format!("S{n}"), json!({}))).collect();
    let lost = json!({"version": "1", "name": "lost", "initialState": "S0", "states": states});
    let imported = connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [lost]}),
        )
        .await;
    let warnings = imported["warnings"].as_array().expect("a list");
    assert_eq!(
        (warnings.len(), &warnings[100]),
        (101, &json!("and 100 more warnings"))
    );
    let imported = connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [ends_in("second", "A")]}),
        )
        .await;
    let warning = imported["warnings"][0].as_str().expect("a warning");
    assert!(
        warning
            .starts_with("workflow \"second\": no new entity gets it, because \"w\" precedes it"),
        "{imported}"
    );
}

#[tokio::test]
async fn concurrent_imports_into_one_model_all_count() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let imports = (0..4).map(|n| {
        connection.ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [ends_in(&format!("w{n}"), "A")]}),
        )
    });
    futures_util::future::join_all(imports).await;
    let exported = connection
        .ok("EntityWorkflowExportRequest", json!({"model": model}))
        .await;
    assert_eq!(exported["workflows"].as_array().expect("a list").len(), 4);
}

#[tokio::test]
async fn workflows_and_the_choice_of_one_outlive_a_restart() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let first = json!({"version": "1", "name": "first", "initialState": "S", "states": {"S": {"transitions": [{"name": "ONE", "next": "S", "manual": true}]}}});
    let model = governed_model(&connection, "doc", json!({"ok": true}), first).await;
    let mut second = first_renamed();
    second["criterion"] = flag();
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [second]}),
        )
        .await;
    let id = create(&connection, &model, json!({"ok": true})).await;
    drop(connection);
    server.kill();
    server.restart();
    let connection = server.connect().await;
    assert_eq!(
        connection
            .ok("EntityTransitionsGetRequest", json!({"entityId": id}))
            .await["transitions"],
        json!(["ONE"])
    );
    connection
        .ok(
            "EntityTransitionRequest",
            json!({"entityId": id, "transition": "ONE"}),
        )
        .await;
}

fn first_renamed() -> Value {
    json!({"version": "1", "name": "second", "initialState": "S", "states": {"S": {"transitions": [{"name": "TWO", "next": "S", "manual": true}]}}})
}
