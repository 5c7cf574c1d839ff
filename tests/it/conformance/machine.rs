//! Rows about definitions, guards and the way of an entity through its states.

use serde_json::{Value, json};

use crate::support::{
    Member, Reply, Scene, Server, create, get, locked_model,
    scene::{automated, count, manual, ok, processor, put, simple, states},
    state,
};

#[tokio::test]
async fn row_01_without_workflows_an_entity_is_created_by_the_built_in_one() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "plain", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let entity = get(&connection, &id).await;
    assert_eq!(state(&entity), "CREATED");
    assert_eq!(entity["meta"]["transitionForLatestSave"], "loopback");
}

#[tokio::test]
async fn row_02_the_first_workflow_whose_criterion_holds_is_chosen() {
    let workflow = |name: &str, initial: &str| json!({"version": "1", "name": name, "initialState": initial, "states": {initial: {}}});
    let mut first = workflow("first", "ONE");
    first["criterion"] = ok()["criterion"].clone();
    let scene = Scene::of(first).await;
    scene
        .import("MERGE", json!([workflow("second", "TWO")]))
        .await
        .ok();
    let id = scene.create(json!({"ok": false})).await;
    assert_eq!(scene.state(&id).await, "TWO");
    let events = scene.audited(&id).await;
    let types: Vec<_> = events.iter().map(|event| &event["eventType"]).collect();
    assert_eq!(
        types[..3],
        ["STATE_MACHINE_START", "WORKFLOW_SKIP", "WORKFLOW_FOUND"]
    );
    assert_eq!(events[1]["data"]["workflowName"], "first");
}

#[tokio::test]
async fn row_03_the_first_automated_transition_whose_guard_holds_fires() {
    let scene = Scene::of(states(json!({
        "A": [automated("T1", "X", ok()), automated("T2", "B", json!({}))], "B": [], "X": []})))
    .await;
    let id = scene.create(json!({"ok": false})).await;
    assert_eq!(scene.state(&id).await, "B");
    let events = scene.audited(&id).await;
    assert_eq!(count(&events, "TRANSITION_NOT_MATCH_CRITERION"), 1);
    let declined = events
        .iter()
        .find(|event| event["eventType"] == "TRANSITION_NOT_MATCH_CRITERION")
        .expect("one");
    assert_eq!(declined["data"]["transition"], "T1");
    assert_eq!(declined["data"]["workflowName"], "w");
}

#[tokio::test]
async fn row_04_a_guarded_loop_ends_at_the_visit_limit_and_leaves_nothing() {
    let always =
        json!({"criterion": {"type": "lifecycle", "field": "state", "operatorType": "NOT_NULL"}});
    let scene = Scene::of(states(json!({
        "A": [automated("T", "B", always.clone())], "B": [automated("T", "A", always)]})))
    .await;
    let problem = scene
        .post(json!({"n": 1}))
        .await
        .refused(400, "WORKFLOW_FAILED");
    assert_eq!(
        problem["detail"],
        "WORKFLOW_FAILED: state machine aborted: state \"A\" visited 11 times (limit: 10)"
    );
    assert!(scene.entities().await.is_empty());
}

#[tokio::test]
async fn row_05_a_cascade_of_99_steps_succeeds_and_one_of_100_is_too_deep() {
    let chain = |length: usize| {
        let name = |n: usize| {
            if n == 0 {
                "A".to_owned()
            } else {
                format!("S{n}")
            }
        };
        let mut all = json!({name(length): []});
        for n in 0..length {
            all[name(n)] = json!([automated("T", &name(n + 1), json!({}))]);
        }
        json!([states(all)])
    };
    let scene = Scene::of(chain(99)[0].clone()).await;
    let id = scene.create(json!({"n": 1})).await;
    assert_eq!(scene.state(&id).await, "S99");
    for length in [100, 101] {
        scene.import("REPLACE", chain(length)).await.ok();
        let problem = scene
            .post(json!({"n": 1}))
            .await
            .refused(400, "WORKFLOW_FAILED");
        let reported = "WORKFLOW_FAILED: state machine aborted: cascade depth exceeded (100) at state \"S100\"";
        assert_eq!(problem["detail"], reported, "{length}");
    }
    assert_eq!(scene.entities().await.len(), 1);
}

#[tokio::test]
async fn row_06_an_unguarded_loop_is_refused_with_its_path_unless_it_is_asked_for() {
    let scene = Scene::of(states(json!({"A": []}))).await;
    let looping = states(json!({
        "A": [automated("T", "B", json!({}))], "B": [automated("T", "A", json!({}))]}));
    let refused = scene.import("REPLACE", json!([looping])).await;
    let problem = refused.refused(400, "VALIDATION_FAILED");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.contains(
            "workflow \"w\": infinite loop detected: A -> B -> A via unguarded automated transitions"
        ),
        "{detail}"
    );
    let body = json!({"importMode": "REPLACE", "allowCycles": true, "workflows": [looping]});
    let path = "/api/model/doc/1/workflow/import";
    scene.rest.post(path, body.to_string()).await.ok();
}

#[tokio::test]
async fn row_07_a_manual_transition_with_a_false_guard_changes_nothing() {
    let scene = Scene::of(states(json!({"A": [manual("M", "B", ok())], "B": []}))).await;
    let id = scene.create(json!({"ok": false, "n": 1})).await;
    let before = scene.get(&id).await;
    let refused = scene.put(&id, "M", json!({"ok": false, "n": 2})).await;
    let problem = refused.refused(400, "WORKFLOW_FAILED");
    assert_eq!(
        problem["detail"],
        "WORKFLOW_FAILED: transition \"M\" criterion not matched"
    );
    assert_eq!(scene.get(&id).await, before);
}

#[tokio::test]
async fn row_08_a_guard_sees_what_the_same_request_changes() {
    let scene = Scene::of(states(json!({"A": [manual("M", "B", ok())], "B": []}))).await;
    let id = scene.create(json!({"ok": false})).await;
    scene.put(&id, "M", json!({"ok": true})).await.ok();
    let moved = scene.get(&id).await;
    assert_eq!((state(&moved), &moved["data"]), ("B", &json!({"ok": true})));
    assert_eq!(moved["meta"]["transitionForLatestSave"], "M");
}

#[tokio::test]
async fn row_09_a_plain_save_is_followed_by_the_automated_transitions() {
    let scene = Scene::of(states(json!({"A": [automated("T", "B", ok())], "B": []}))).await;
    let id = scene.create(json!({"ok": false})).await;
    assert_eq!(scene.state(&id).await, "A");
    scene.put(&id, "", json!({"ok": true})).await.ok();
    let moved = scene.get(&id).await;
    assert_eq!(state(&moved), "B");
    assert_eq!(moved["meta"]["transitionForLatestSave"], "loopback");
}

fn ends_in(name: &str, state: &str) -> Value {
    json!({"version": "1", "name": name, "initialState": state, "states": {state: {}}})
}

/// The workflows of the model after `w2` was imported over `w1`: names, and whether they are active.
async fn after_import(mode: &str) -> Vec<(String, bool)> {
    let scene = Scene::of(ends_in("w1", "A")).await;
    scene.import(mode, json!([ends_in("w2", "B")])).await.ok();
    let exported = scene.export().await;
    let workflows = exported.as_array().expect("a list").iter();
    let reported = workflows.map(|workflow| {
        let name = workflow["name"].as_str().expect("a name").to_owned();
        (name, workflow["active"] == true)
    });
    reported.collect()
}

#[tokio::test]
async fn row_23_a_merged_workflow_comes_after_the_stored_ones() {
    let reported = after_import("MERGE").await;
    assert_eq!(reported, [("w1".to_owned(), true), ("w2".to_owned(), true)]);
}

#[tokio::test]
async fn row_24_an_activated_workflow_comes_after_the_others_which_are_inactive() {
    let reported = after_import("ACTIVATE").await;
    assert_eq!(
        reported,
        [("w1".to_owned(), false), ("w2".to_owned(), true)]
    );
}

#[tokio::test]
async fn row_25_a_replacing_workflow_is_alone() {
    let reported = after_import("REPLACE").await;
    assert_eq!(reported, [("w2".to_owned(), true)]);
}

#[tokio::test]
async fn row_26_what_says_nothing_is_not_exported() {
    let given = json!({"version": "1", "name": "w", "desc": "", "initialState": "A", "states": {
        "A": {"transitions": [{"name": "T", "next": "B", "manual": true, "disabled": false, "processors": []}]},
        "B": {"transitions": []}}});
    let scene = Scene::of(given).await;
    assert_eq!(
        scene.export().await,
        json!([{"version": "1", "name": "w", "initialState": "A", "active": true, "states": {
            "A": {"transitions": [{"name": "T", "next": "B", "manual": true}]}, "B": {}}}])
    );
}

/// Which of these hold for an entity, as guards of real transitions.
async fn hold(data: Value, criteria: &[Value]) -> Vec<bool> {
    let guarded = |criterion: &Value| {
        states(json!({"A": [automated("T", "HELD", json!({"criterion": criterion}))], "HELD": []}))
    };
    let scene = Scene::of(states(json!({"A": []}))).await;
    let mut held = Vec::new();
    for criterion in criteria {
        scene
            .import("REPLACE", json!([guarded(criterion)]))
            .await
            .ok();
        let id = scene.create(data.clone()).await;
        held.push(scene.state(&id).await == "HELD");
    }
    held
}

#[tokio::test]
async fn row_32_a_missing_field_is_not_unequal_to_anything() {
    let unequal = |path: &str| simple(path, "NOT_EQUAL", json!("x"));
    let held = hold(
        json!({"n": 1, "s": "text"}),
        &[unequal("$.s"), unequal("$.ok"), unequal("$.none")],
    )
    .await;
    assert_eq!(held, [true, false, false]);
}

#[tokio::test]
async fn row_33_a_value_on_the_bound_is_between_only_inclusively() {
    let between = |operator: &str, low: i64, high: i64| simple("$.n", operator, json!([low, high]));
    let held = hold(
        json!({"n": 5}),
        &[
            between("BETWEEN", 5, 9),
            between("BETWEEN", 1, 5),
            between("BETWEEN", 4, 6),
            between("BETWEEN_INCLUSIVE", 5, 9),
            between("BETWEEN_INCLUSIVE", 1, 5),
        ],
    )
    .await;
    assert_eq!(held, [false, false, true, true, true]);
}

#[tokio::test]
async fn row_34_a_like_pattern_is_for_the_whole_value() {
    let like = [
        simple("$.s", "LIKE", json!("a%")),
        simple("$.s", "LIKE", json!("%a")),
    ];
    assert_eq!(hold(json!({"s": "ba"}), &like).await, [false, true]);
}

#[tokio::test]
async fn row_35_the_operator_may_be_spelled_in_every_way() {
    let spelled = |member: &str, operand: i64| json!({"type": "simple", "jsonPath": "$.n", member: "EQUALS", "value": operand});
    let members = ["operation", "operatorType", "operator"];
    for (operand, expected) in [(1, true), (2, false)] {
        let criteria = members.map(|member| spelled(member, operand));
        assert_eq!(hold(json!({"n": 1}), &criteria).await, [expected; 3]);
    }
}

#[tokio::test]
async fn row_36_a_group_not_with_one_true_child_is_false() {
    let group =
        |children: Value| json!({"type": "group", "operator": "NOT", "conditions": children});
    let (yes, no) = (
        simple("$.n", "EQUALS", json!(1)),
        simple("$.n", "EQUALS", json!(2)),
    );
    let criteria = [
        group(json!([yes])),
        group(json!([no])),
        group(json!([no, yes])),
    ];
    assert_eq!(hold(json!({"n": 1}), &criteria).await, [false, true, false]);
}

#[tokio::test]
async fn row_38_of_two_concurrent_transitions_one_commits() {
    let scene = Scene::of(states(json!({
        "A": [manual("M", "B", processor("SYNC", json!({})))], "B": []})))
    .await;
    let member = Member::join(&scene.server, &[]).await;
    let id = scene.create(json!({"n": 1})).await;
    let both = async {
        let calls = [member.next().await, member.next().await];
        for call in &calls {
            member.reply(call, Reply::Nothing).await;
        }
    };
    let (one, other, ()) = tokio::join!(
        put(&scene.rest, &id, "M", json!({"n": 2})),
        put(&scene.rest, &id, "M", json!({"n": 3})),
        both
    );
    let (winner, loser, n) = if one.status == 200 {
        (one, other, 2)
    } else {
        (other, one, 3)
    };
    winner.ok();
    loser.refused_for_now(409, "CONFLICT");
    let entity = scene.get(&id).await;
    assert_eq!((state(&entity), &entity["data"]["n"]), ("B", &json!(n)));
}
