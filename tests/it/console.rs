//! The page at `/console`: it is whole, asks only this service, and its views show what is there.

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::json;

use crate::support::{Rest, Server, create, governed_model};

const APPROVAL: &str = r#"
kind: Workflow
name: approval
version: "1"
idempotency: optional
start:
  waitForSignal: {type: approval, timeoutMs: 3600000, onTimeout: flo.TimedOut}
  transitions: {success: flo.Completed}
"#;

/// The page's files by their names, found as a browser finds them: by what each one names.
async fn files(rest: &Rest) -> Vec<(String, String)> {
    let page = rest.get("/console").await;
    assert_eq!(page.status, 200);
    let mut names: Vec<String> = page
        .text
        .split('"')
        .filter_map(|part| Some(part.strip_prefix("console/")?.to_owned()))
        .collect();
    let mut files: Vec<(String, String)> = Vec::new();
    while let Some(name) = names.pop() {
        if files.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let file = rest.get(&format!("/console/{name}")).await;
        assert_eq!(file.status, 200, "{name}");
        let imported = file.text.split('"');
        names.extend(imported.filter_map(|part| Some(part.strip_prefix("./")?.to_owned())));
        files.push((name, file.text));
    }
    files
}

#[tokio::test]
async fn the_console_is_whole_and_asks_this_service_only() {
    let server = Server::start();
    let rest = server.rest();
    let page = rest.get("/console").await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let policy = page.headers["content-security-policy"].to_str();
    assert!(policy.expect("text").starts_with("default-src 'none'"));
    assert!(page.text.contains(r#"content="/api""#), "{}", page.text);
    let slash = rest.get("/console/").await;
    assert_eq!(slash.headers["location"], "../console");
    assert_eq!(rest.get("/console/nothing.js").await.status, 404);
    let files = files(&rest).await;
    assert_eq!(files.len(), 12);
    for (name, text) in &files {
        let places = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!places.contains("http"), "{name} names another place");
        assert!(!text.contains("innerHTML ="), "{name} writes HTML");
    }
    // Every event that it sends is one that the service knows.
    let types: BTreeSet<&str> = files
        .iter()
        .flat_map(|(_, text)| text.split('"'))
        .filter(|part| part.ends_with("Request"))
        .collect();
    assert!(types.len() > 20, "{types:?}");
    for kind in types {
        let schema = rest.get(&format!("/api/events/{kind}/schema")).await;
        assert_eq!(schema.status, 200, "{kind}");
    }
}

/// The texts of views, by address; of a view with a button, what a click on it is answered with.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
async fn seen(server: &Server, looks: &[&str]) -> Option<Vec<String>> {
    if Command::new("node").arg("--version").output().is_err() {
        println!("SKIPPED: node is not installed, which runs the scripts of the console");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("console")).expect("a folder");
    for (name, text) in files(&server.rest()).await {
        fs::write(folder.path().join("console").join(name), text).expect("written");
    }
    fs::write(folder.path().join("package.json"), r#"{"type": "module"}"#).expect("written");
    let walk = include_str!("fixtures/console.mjs");
    fs::write(folder.path().join("walk.js"), walk).expect("written");
    let walked = Command::new("node")
        .current_dir(folder.path())
        .arg("walk.js")
        .arg(format!("http://{}", server.http))
        .args(looks)
        .output()
        .expect("node runs");
    let (out, errors) = (
        String::from_utf8_lossy(&walked.stdout),
        String::from_utf8_lossy(&walked.stderr),
    );
    assert!(walked.status.success(), "{out}{errors}");
    let texts: Vec<String> = out.split("── ").skip(1).map(str::to_owned).collect();
    assert_eq!(texts.len(), looks.len(), "{out}{errors}");
    Some(texts)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_views_show_entities_runs_and_definitions_and_act_on_them() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = json!({"version": "1", "name": "orders", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "approve", "next": "DONE", "manual": true}]}, "DONE": {}}});
    let model = governed_model(
        &connection,
        "order",
        json!({"total": 1.5, "who": "x"}),
        workflow,
    )
    .await;
    // A browser must not take this text for HTML.
    let data = json!({"total": 20.5, "who": "<b>Ada</b>"});
    let id = create(&connection, &model, data).await;
    let document = json!({"document": APPROVAL});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let start = json!({"definition": "approval", "input": {"by": "test"}});
    let started = connection.ok("RunStartRequest", start).await;
    let run = started["runId"].as_str().expect("an id");
    let entity = format!("#/entity/{id}");
    let shown = format!("#/runs/{run}");
    let looks = [
        "#/".to_owned(),
        "#/entities".to_owned(),
        "#/entities/order/1".to_owned(),
        "#/entities/order/1?path=%24.who&operator=CONTAINS&value=Ada".to_owned(),
        "#/entities/order/1?state=DONE".to_owned(),
        entity.clone(),
        format!("{entity} ! Take transition"),
        entity,
        "#/runs?status=waiting".to_owned(),
        shown.clone(),
        format!("{shown} ! Cancel the run"),
        shown,
        "#/definitions".to_owned(),
        "#/work".to_owned(),
        "#/managers".to_owned(),
        "#/incidents".to_owned(),
        "#/entity/00000000-0000-4000-8000-000000000000".to_owned(),
        "#/nowhere".to_owned(),
    ];
    let looks: Vec<&str> = looks.iter().map(String::as_str).collect();
    let Some(texts) = seen(&server, &looks).await else {
        return;
    };
    let expected: [&[&str]; 18] = [
        &["Overview", "order", "NEW", "approval", run],
        &["order", "locked"],
        &[&id, "<b>Ada</b>", "approve"],
        &[&id],
        &["No entity matches."],
        &[
            "approve",
            "Take transition",
            "STATE_MACHINE_FINISH",
            "create",
        ],
        &["Done."],
        &["DONE", "This state has no transitions."],
        &[run, "approval 1", "waiting"],
        &[
            "signal",
            "Send a signal",
            "workflow_started",
            "\"by\": \"test\"",
        ],
        &["Done."],
        &["cancelled"],
        &["approval", "enabled", "Start a run"],
        &["No member is connected.", "No task matches."],
        &["No manager exists.", "No topic has events."],
        &["No open incidents."],
        &["Request failed", "ENTITY_NOT_FOUND"],
        &["There is no such page."],
    ];
    for (text, parts) in texts.iter().zip(expected) {
        for part in parts {
            assert!(text.contains(part), "`{part}` is missing:\n{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_acts_on_what_is_shown_also_if_it_looks_like_one_before() {
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = json!({"version": "1", "name": "orders", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "approve", "next": "DONE", "manual": true}]}, "DONE": {}}});
    let model = governed_model(&connection, "order", json!({"total": 1}), workflow).await;
    let before = create(&connection, &model, json!({"total": 1})).await;
    let after = create(&connection, &model, json!({"total": 1})).await;
    let looks = [
        format!("#/entity/{before}"),
        format!("#/entity/{after} ! Take transition"),
        format!("#/entity/{before}"),
        format!("#/entity/{after}"),
    ];
    let looks: Vec<&str> = looks.iter().map(String::as_str).collect();
    let Some(texts) = seen(&server, &looks).await else {
        return;
    };
    assert!(texts[2].contains("Take transition"), "{}", texts[2]);
    assert!(!texts[3].contains("Take transition"), "{}", texts[3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_a_view_with_several_has_pages_of_its_own() {
    let server = Server::start();
    let connection = server.connect().await;
    for number in 100..151 {
        let topic = format!("topic-{number}");
        let payload = json!({"topic": topic, "events": [{"payload": 1}]});
        connection.ok("TopicPublishRequest", payload).await;
    }
    let page = connection.ok("TopicsGetRequest", json!({"limit": 50}));
    let page = page.await;
    let cursor = page["pagination"]["nextCursor"].as_str().expect("a cursor");
    let next = format!("#/managers?topics={cursor}");
    let Some(texts) = seen(&server, &["#/managers", &next]).await else {
        return;
    };
    assert!(texts[0].contains("topic-149") && texts[0].contains("Next page"));
    assert!(!texts[0].contains("topic-150"), "{}", texts[0]);
    assert!(texts[1].contains("topic-150") && texts[1].contains("First page"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_action_shows_the_view_as_it_is_now() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = json!({"document": APPROVAL});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let start = json!({"definition": "approval", "input": {}});
    let started = connection.ok("RunStartRequest", start).await;
    let run = started["runId"].as_str().expect("an id");
    let look = format!("#/runs/{run} ! Send ! POST /api/workflows/{run}/cancel");
    let Some(texts) = seen(&server, &[&look]).await else {
        return;
    };
    let text = &texts[0];
    assert!(
        !text.contains("Done.") && text.contains("cancelled"),
        "{text}"
    );
    assert!(!text.contains("Cancel the run"), "{text}");
}
