//! What an import of workflows warns of because of the model and its entities, and where it says
//! that a definition is wrong.

use serde_json::{Value, json};

use crate::support::{
    Rest, Scene, Server,
    scene::{automated, manual, simple, states},
};

const IMPORT: &str = "/api/model/order/1/workflow/import";

/// A server with the locked model `order`.
async fn stage() -> (Server, Rest) {
    let server = Server::start();
    let rest = server.rest();
    rest.lock_model("order", r#"{"total":1,"lines":[{"sku":"a"}]}"#)
        .await;
    (server, rest)
}

async fn imported(rest: &Rest, workflow: &Value) -> Value {
    let body = json!({"importMode": "REPLACE", "workflows": [workflow]});
    rest.post(IMPORT, body.to_string()).await.ok()
}

#[tokio::test]
async fn a_criterion_over_a_field_that_a_locked_model_cannot_have_is_reported() {
    let (_server, rest) = stage().await;
    let any_of = |paths: [&str; 3]| {
        let tests = paths.map(|path| simple(path, "GREATER_THAN", json!(100)));
        json!({"criterion": {"type": "group", "operator": "OR", "conditions": tests}})
    };
    let workflow = states(json!({
        "A": [
            automated("hold", "HELD", any_of(["$.totl", "$.total", "$.totl"])),
            automated("check", "HELD", any_of(["$.lines[*].skus", "$.country", "state"]))],
        "HELD": []}));
    let of = |transition: &str, path: &str, meant: &str| {
        format!(
            "workflow \"w\", state \"A\", transition \"{transition}\": in the criterion, {path} is a field that the model does not have, so it counts as missing{meant}"
        )
    };
    let expected = json!([
        of("hold", "$.totl", "; did you mean $.total?"),
        of("check", "$.lines[*].skus", "; did you mean $.lines[*].sku?"),
        of("check", "$.country", ""),
    ]);
    assert_eq!(imported(&rest, &workflow).await["warnings"], expected);
    // Documents may add such a field now.
    rest.post("/api/model/order/1/changeLevel/STRUCTURAL", "")
        .await
        .ok();
    assert_eq!(imported(&rest, &workflow).await, json!({"success": true}));
}

#[tokio::test]
async fn entities_in_states_that_no_workflow_has_any_more_are_reported() {
    let stay = |state: &str| {
        let mut workflow = states(json!({state: [manual("M", state, json!({}))]}));
        workflow["initialState"] = json!(state);
        workflow
    };
    let scene = Scene::of(stay("A")).await;
    for n in 0..2 {
        scene.create(json!({"n": n})).await;
    }
    let left = json!({"success": true, "warnings": [
        "2 entities are in the state \"A\", which no active workflow has: no transition can be taken there; add the state, with a transition that leads on"
    ]});
    let success = json!({"success": true});
    for (workflow, expected) in [
        (stay("A"), &success),
        (stay("B"), &left),
        // They are not counted if there are the same states as before.
        (stay("B"), &success),
        (stay("a"), &left),
        (stay("A"), &success),
    ] {
        let said = scene.import("REPLACE", json!([workflow])).await.ok();
        assert_eq!(&said, expected, "{workflow}");
    }
    // An inactive workflow does not count.
    let mut other = stay("B");
    other["name"] = json!("other");
    let said = scene.import("ACTIVATE", json!([other])).await.ok();
    assert_eq!(said, left);
}

#[tokio::test]
async fn an_import_warns_that_it_makes_a_workflow_active() {
    for (profile, is_reported) in [("documented", true), ("cyoda-0.8", false)] {
        let server = Server::with(&[("INTERLOCK_COMPAT", profile)]);
        let rest = server.rest();
        rest.lock_model("order", r#"{"total":1}"#).await;
        let workflow = json!({"version": "1.1", "name": "staged", "initialState": "A", "active": false, "states": {"A": {}}});
        let said = imported(&rest, &workflow).await;
        let warning = "workflow \"staged\": `active: false` is ignored and the workflow is active; to make it inactive, import the other workflows with the mode ACTIVATE";
        let warnings = if is_reported {
            json!([warning])
        } else {
            Value::Null
        };
        assert_eq!(said["warnings"], warnings, "{profile}");
        let exported = rest.get("/api/model/order/1/workflow/export").await.ok();
        assert_eq!(exported["workflows"][0]["active"], is_reported, "{profile}");
    }
}

#[tokio::test]
async fn a_definition_that_cannot_be_read_is_reported_with_its_state_and_transition() {
    let (_server, rest) = stage().await;
    let late = automated("late", "A", json!({"schedule": {"delayMs": "5s"}}));
    let workflow = states(json!({"A": [manual("M", "A", json!({})), late]}));
    let body = json!({"importMode": "MERGE", "workflows": [states(json!({"A": []})), workflow]});
    let body = serde_json::to_string_pretty(&body).expect("JSON");
    let problem = rest.post(IMPORT, body).await.refused(400, "BAD_REQUEST");
    assert_eq!(
        problem["detail"],
        "BAD_REQUEST: invalid workflow definition: `workflows[1]`: workflow \"w\", state \"A\", transition \"late\": `schedule.delayMs`: invalid type: string \"5s\", expected a whole number of milliseconds"
    );
}
