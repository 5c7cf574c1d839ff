//! The page at `/console`: it is whole, asks only this service, and its views show what is there.

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::json;

use crate::support::{Connection, Rest, Server, create, governed_model};

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
    assert_eq!(files.len(), 15);
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

/// Runs a script beside the files of the console: what it has printed.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
async fn run(server: &Server, script: &str, arguments: &[&str]) -> Option<String> {
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
    fs::write(folder.path().join("script.js"), script).expect("written");
    let ended = Command::new("node")
        .current_dir(folder.path())
        .arg("script.js")
        .arg(format!("http://{}", server.http))
        .args(arguments)
        .output()
        .expect("node runs");
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{out}{errors}");
    Some(out)
}

/// The texts of views, by address; of a view with a button, what a click on it is answered with.
async fn seen(server: &Server, looks: &[&str]) -> Option<Vec<String>> {
    let out = run(server, include_str!("fixtures/console.mjs"), looks).await?;
    let texts: Vec<String> = out.split("── ").skip(1).map(str::to_owned).collect();
    assert_eq!(texts.len(), looks.len(), "{out}");
    Some(texts)
}

/// A model whose entities are approved by hand, and one of its entities.
async fn approvable(connection: &Connection) -> String {
    let workflow = json!({"version": "1", "name": "orders", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "approve", "next": "DONE", "manual": true}]}, "DONE": {}}});
    let model = governed_model(connection, "order", json!({"total": 1}), workflow).await;
    create(connection, &model, json!({"total": 1})).await
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
        &[": done."],
        &["DONE", "This state has no transitions."],
        &[run, "approval 1", "waiting"],
        &[
            "signal",
            "Send a signal",
            "workflow_started",
            "\"by\": \"test\"",
        ],
        &[": done."],
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
        !text.contains(": done.") && text.contains("cancelled"),
        "{text}"
    );
    assert!(!text.contains("Cancel the run"), "{text}");
}

#[tokio::test]
async fn a_page_is_left_as_it_is_only_while_a_person_uses_it() {
    run(
        &Server::start(),
        include_str!("fixtures/attention.mjs"),
        &[],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_that_is_under_way_keeps_no_other_from_being_done() {
    let server = Server::start();
    let connection = server.connect().await;
    let id = approvable(&connection).await;
    let document = json!({"document": APPROVAL});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let start = json!({"definition": "approval", "input": {}});
    let started = connection.ok("RunStartRequest", start).await;
    let run = started["runId"].as_str().expect("an id");
    let held = format!("#/entity/{id} ! Take transition ! held");
    let cancel = format!("#/runs/{run} ! Cancel the run");
    let looks = [&*held, &cancel, "#/work !  ! released"];
    let Some(texts) = seen(&server, &looks).await else {
        return;
    };
    assert!(!texts[0].contains("done."), "{}", texts[0]);
    let cancelled = format!("Cancel the run {run}: done.");
    assert!(texts[1].contains(&cancelled), "{}", texts[1]);
    let taken = format!("Take the transition approve of the entity {id}: done.");
    assert!(texts[2].contains(&taken), "{}", texts[2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_press_says_that_the_first_is_under_way() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = json!({"document": APPROVAL});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let start = json!({"definition": "approval", "input": {}});
    let started = connection.ok("RunStartRequest", start).await;
    let run = started["runId"].as_str().expect("an id");
    let press = format!("#/runs/{run} ! Send");
    let held = format!("{press} ! held");
    let Some(texts) = seen(&server, &[&held, &press]).await else {
        return;
    };
    assert!(texts[1].contains("is still under way."), "{}", texts[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_whose_answer_is_lost_is_repeated_safely() {
    let server = Server::start();
    let connection = server.connect().await;
    let required = APPROVAL.replace("optional", "required");
    let document = json!({"document": required});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let press = "#/definitions ! Start";
    let lost = format!("{press} ! lost");
    let Some(texts) = seen(&server, &[&lost, press]).await else {
        return;
    };
    let unknown = "it is not known whether this was done";
    assert!(texts[0].contains(unknown), "{}", texts[0]);
    assert!(texts[1].contains("Start approval: done."), "{}", texts[1]);
    let count = async || {
        let runs = connection.ok("RunsGetRequest", json!({})).await;
        runs["items"].as_array().expect("a list").len()
    };
    assert_eq!(count().await, 1);
    // Another start is one, although it looks the same.
    seen(&server, &[press, press]).await;
    assert_eq!(count().await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_that_is_pressed_after_its_effect_was_seen_acts_again() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = json!({"configuration_code": "c", "user_code": "m", "workers": []});
    let payload = json!({"document": document});
    let created = connection.ok("ManagerCreateRequest", payload).await;
    let manager = json!({"manager": created["manager"]});
    let looks = [
        "#/managers ! Pause ! lost",
        "#/managers ! Resume",
        "#/managers ! Pause",
    ];
    let Some(texts) = seen(&server, &looks).await else {
        return;
    };
    assert!(texts[0].contains("press again"), "{}", texts[0]);
    assert!(texts[2].contains(": done."), "{}", texts[2]);
    let shown = connection.ok("ManagerGetRequest", manager).await;
    assert_eq!(shown["document"]["status"], "paused", "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_that_was_seen_to_arrive_can_be_sent_again() {
    let server = Server::start();
    let connection = server.connect().await;
    let twice = APPROVAL.replace("type: approval", "type: other");
    let document = json!({"document": twice});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let start = json!({"definition": "approval", "input": {}});
    let started = connection.ok("RunStartRequest", start).await;
    let run = json!({"runId": started["runId"]});
    let press = format!(
        "#/runs/{} ! Send & type=go",
        started["runId"].as_str().expect("an id")
    );
    let lost = format!("{press} ! lost");
    let Some(_) = seen(&server, &[&lost, &press]).await else {
        return;
    };
    let shown = connection.ok("RunGetRequest", run).await;
    let signals = shown["run"]["signals"].as_array().expect("a list");
    assert_eq!(signals.len(), 2, "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_ignores_keys_is_not_said_to_repeat_safely() {
    let server = Server::with(&[("INTERLOCK_COMPAT", "cyoda-0.8")]);
    let connection = server.connect().await;
    let document = json!({"document": APPROVAL});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let Some(texts) = seen(&server, &["#/definitions ! Start ! lost"]).await else {
        return;
    };
    assert!(texts[0].contains("may do it twice"), "{}", texts[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_start_keeps_its_definition() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = json!({"document": APPROVAL});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let disabled = json!({"name": "approval", "enabled": false});
    connection
        .ok("RunDefinitionSetEnabledRequest", disabled)
        .await;
    let another = json!({"kind": "Workflow", "name": "another", "version": "1",
        "start": {"waitForSignal": {"type": "go", "timeoutMs": 1000, "onTimeout": "flo.TimedOut"},
            "transitions": {"success": "flo.Completed"}}});
    let refused = format!("#/definitions ! Start ! POST /api/definitions {another}");
    let Some(texts) = seen(&server, &[&refused, "#/definitions ! Start"]).await else {
        return;
    };
    for text in texts {
        assert!(text.contains("Start approval: "), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_of_a_negative_version_has_a_page() {
    let server = Server::start();
    let path = "/api/model/import/JSON/SAMPLE_DATA/negative/-1";
    server
        .rest()
        .post(path, r#"{"total":1}"#.to_owned())
        .await
        .ok();
    let Some(texts) = seen(&server, &["#/entities/negative/-1"]).await else {
        return;
    };
    assert!(!texts[0].contains("Not found"), "{}", texts[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_json_stay_lines_on_the_page_of_the_api() {
    let script = include_str!("fixtures/docs.mjs");
    if let Some(shown) = run(&Server::start(), script, &[]).await {
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines, ["{", "  \"a\": 1", "}", "{", "  \"a\": []", "}", ""]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transition_is_taken_of_what_was_shown_only() {
    let server = Server::start();
    let id = approvable(&server.connect().await).await;
    let change = format!(r#"PUT /api/entity/JSON/{id} {{"total":7000000}}"#);
    let look = format!("#/entity/{id} ! Take transition ! {change}");
    let Some(texts) = seen(&server, &[&look]).await else {
        return;
    };
    let text = &texts[0];
    assert!(
        text.contains("was changed meanwhile; look again."),
        "{text}"
    );
    assert!(text.contains("7000000"), "{text}");
    assert!(text.contains("Take transition"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_has_its_namespace() {
    let server = Server::start();
    let connection = server.connect().await;
    let document = json!({"document": APPROVAL, "namespace": "prod"});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let looks = [
        "#/runs",
        "#/definitions?namespace=prod ! Start",
        "#/runs?namespace=prod",
        "#/runs",
    ];
    let Some(texts) = seen(&server, &looks).await else {
        return;
    };
    for (text, is_there) in texts.iter().zip([false, true, true, false]) {
        assert_eq!(text.contains("approval 1"), is_there, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newcomer_finds_the_topics_and_texts_are_cut_between_characters() {
    let server = Server::start();
    let connection = server.connect().await;
    let looks = ["#/", "#/definitions", "#/managers", "#/entities/none"];
    let Some(texts) = seen(&server, &looks).await else {
        return;
    };
    let parts = [
        "Getting started",
        "shows how to define one",
        "shows how to write one",
        "There is no such page.",
    ];
    for (text, part) in texts.iter().zip(parts) {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    let workflow =
        json!({"version": "1", "name": "w", "initialState": "NEW", "states": {"NEW": {}}});
    let model = governed_model(&connection, "cut", json!({"e": "x"}), workflow).await;
    for length in [200, 201] {
        let text = format!("{}{}", "x".repeat(length % 2), "😀".repeat(length));
        create(&connection, &model, json!({"e": text})).await;
    }
    let texts = seen(&server, &["#/entities/cut/1"]).await.expect("node");
    assert!(texts[0].contains("😀…"), "{}", texts[0]);
    assert!(!texts[0].contains('\u{fffd}'), "{}", texts[0]);
}

/// A run that waits for a signal.
async fn waiting(connection: &Connection, input: serde_json::Value) -> String {
    let document = json!({"document": APPROVAL});
    connection.ok("RunDefinitionCreateRequest", document).await;
    let start = json!({"definition": "approval", "input": input});
    let started = connection.ok("RunStartRequest", start).await;
    started["runId"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_waits_for_a_person_or_for_the_service_says_from_when_it_is() {
    let server = Server::start();
    let run = waiting(&server.connect().await, json!({})).await;
    let looks = [
        format!("#/runs/{run} !  ! later"),
        format!("#/runs/{run} !  & type=go ! later"),
        format!("#/runs/{run} !  ! down"),
        "#/ !  ! down".to_owned(),
    ];
    let looks: Vec<&str> = looks.iter().map(String::as_str).collect();
    let Some(texts) = seen(&server, &looks).await else {
        return;
    };
    let paused = "The page is not refreshed while a form is filled in";
    let lost = "The service cannot be reached. What is shown is as of ";
    assert!(!texts[0].contains("as of"), "{}", texts[0]);
    assert!(texts[1].contains(paused), "{}", texts[1]);
    assert!(texts[1].contains("What is shown is as of "), "{}", texts[1]);
    // A form that is filled in is still waited for.
    assert!(texts[2].contains(paused), "{}", texts[2]);
    assert!(texts[3].contains(lost), "{}", texts[3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_typed_while_an_action_is_under_way_stays() {
    let server = Server::start();
    let run = waiting(&server.connect().await, json!({})).await;
    let looks = [
        format!("#/runs/{run} ! Send & type=other ! held"),
        format!("#/runs/{run} !  & type=next ! released"),
        r#"#/definitions ! Start & payload={"a":1} ! held"#.to_owned(),
        r#"#/definitions !  & payload={"b":2} ! released"#.to_owned(),
        "#/definitions ! Start".to_owned(),
    ];
    let looks: Vec<&str> = looks.iter().map(String::as_str).collect();
    let Some(texts) = seen(&server, &looks).await else {
        return;
    };
    let expected: [&[&str]; 5] = [
        &["[typed: type=other]"],
        &["signal_received other", ": done.", "[typed: type=next]"],
        &[],
        &["Show the run", r#"[typed: payload={"b":2}]"#],
        &["Start approval: done.", r#""b": 2"#],
    ];
    for (text, parts) in texts.iter().zip(expected) {
        for part in parts {
            assert!(text.contains(part), "`{part}` is missing:\n{text}");
        }
    }
    assert!(!texts[4].contains("[typed: "), "{}", texts[4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_typed_stays_also_if_the_page_has_no_such_form_any_more() {
    let server = Server::start();
    let run = waiting(&server.connect().await, json!({})).await;
    let refused = format!(
        r#"#/runs/{run} ! Send & type=go & payload={{"a":1}} ! POST /api/workflows/{run}/cancel"#
    );
    let discarded = format!("#/runs/{run} ! Discard");
    let Some(texts) = seen(&server, &[&refused, &discarded]).await else {
        return;
    };
    for part in [
        "RUN_FINISHED",
        "Status cancelled",
        "What you typed",
        r#"[typed: payload={"a":1}]"#,
    ] {
        assert!(texts[0].contains(part), "`{part}` is missing:\n{texts:?}");
    }
    for part in ["What you typed", "[typed: "] {
        assert!(!texts[1].contains(part), "`{part}` stays:\n{texts:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_is_typed_stays_and_names_a_field() {
    let server = Server::start();
    let id = approvable(&server.connect().await).await;
    let page = "#/entities/order/1";
    let typed = format!("{page} !  & path=$.total & value=7");
    let other = format!(r#"{page} !  ! POST /api/entity/JSON/order/1 {{"total":2}}"#);
    let vague = format!("{page}?operator=EQUALS&value=7");
    let Some(texts) = seen(&server, &[&typed, &other, page, &vague]).await else {
        return;
    };
    for part in [
        r#"{"total":2}"#,
        "[typed: path=$.total]",
        "[typed: value=7]",
    ] {
        assert!(texts[2].contains(part), "`{part}` is missing:\n{texts:?}");
    }
    let text = &texts[3];
    assert!(text.contains("Name the field that is searched."), "{text}");
    assert!(text.contains("Search") && !text.contains(&id), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_focus_of_a_button_that_is_gone_goes_to_the_heading_above_it() {
    let server = Server::start();
    let connection = server.connect().await;
    let id = approvable(&connection).await;
    let run = waiting(&connection, json!({})).await;
    let take = format!("#/entity/{id} ! Take transition");
    let cancel = format!("#/runs/{run} ! Cancel the run");
    let Some(texts) = seen(&server, &[&take, &cancel]).await else {
        return;
    };
    assert!(texts[0].contains("[focus: Transitions]"), "{}", texts[0]);
    let heading = format!("/ {run}]");
    assert!(texts[1].contains(&heading), "{}", texts[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_state_cannot_be_read_says_so_and_can_be_cancelled() {
    let mut server = Server::on_disk(&[]);
    let run = waiting(&server.connect().await, json!({})).await;
    server.kill();
    let number = run.trim_start_matches("wfrun-");
    server.change_stored(&format!("update run set state = '[]' where r = {number}"));
    server.restart();
    let page = format!("#/runs/{run}");
    let cancel = format!("{page} ! Cancel the run");
    let Some(texts) = seen(&server, &["#/", "#/runs", &page, &cancel]).await else {
        return;
    };
    for text in &texts[..3] {
        assert!(
            text.contains("the state of the run cannot be read"),
            "{text}"
        );
    }
    assert!(texts[3].contains("STORAGE_DAMAGED"), "{}", texts[3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_large_document_the_beginning_is_shown_first() {
    let server = Server::start();
    let connection = server.connect().await;
    let input = json!({"text": "x".repeat(300_000), "last": "here"});
    let run = waiting(&connection, input).await;
    let page = format!("#/runs/{run}");
    let whole = format!("{page}?whole=true");
    let Some(texts) = seen(&server, &[&page, &whole]).await else {
        return;
    };
    let (first, whole) = (texts[0].len(), texts[1].len());
    assert!((262_144..280_000).contains(&first), "{first} bytes");
    assert!(texts[0].contains("The first 262144 of "));
    assert!(texts[0].contains("The first 1000 characters of a detail"));
    // The input, and the first event of the history.
    assert!(whole > 600_000, "{whole} bytes");
    assert!(!texts[1].contains("Show all"));
}
