//! The `OpenAPI` document (`rest.md` §8).

use interlock::rest::SPELLINGS;
use serde_json::{Value, json};

use crate::support::{Member, Rest, Server};

#[tokio::test]
async fn the_document_says_where_it_was_asked_for() {
    let server = Server::start();
    let said = server.rest().get("/openapi.json").await;
    assert_eq!(said.headers["content-type"], "application/json");
    let document = said.ok();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(
        document["servers"],
        json!([{"url": format!("http://{}/api", server.http)}])
    );
    let behind = server
        .rest()
        .with("x-forwarded-host", "records.example")
        .with("x-forwarded-proto", "https");
    assert_eq!(
        behind.get("/openapi.json").await.ok()["servers"],
        json!([{"url": "https://records.example/api"}])
    );
}

#[tokio::test]
async fn the_document_follows_the_context_path() {
    let server = Server::with(&[("CYODA_CONTEXT_PATH", "")]);
    let document = server.rest().get("/openapi.json").await.ok();
    assert_eq!(
        document["servers"],
        json!([{"url": format!("http://{}", server.http)}])
    );
}

/// The path of the document with the parts of one of ours in place of the names.
pub(crate) fn fits(described: &str, path: &str) -> bool {
    let is_part = |segment: &str| segment.starts_with('{');
    described.split('/').count() == path.split('/').count()
        && described
            .split('/')
            .zip(path.split('/'))
            .all(|(one, other)| one == other || is_part(one) && is_part(other))
}

#[tokio::test]
async fn every_spelling_is_described_with_its_event_and_its_failures() {
    let server = Server::start();
    let document = server.rest().get("/openapi.json").await.ok();
    let paths = document["paths"].as_object().expect("an object");
    for spelling in SPELLINGS {
        let method = spelling.method.as_str().to_ascii_lowercase();
        let described: Vec<&Value> = paths
            .iter()
            .filter(|(path, _)| fits(path, spelling.place().0))
            .map(|(_, methods)| &methods[&method])
            .filter(|operation| operation.is_object())
            .collect();
        let [operation] = described[..] else {
            panic!(
                "{method} {} is described {} times",
                spelling.path,
                described.len()
            );
        };
        let text = operation["description"].as_str().expect("a text");
        assert!(text.contains(spelling.request.as_str()), "{text}");
        let refused = &operation["responses"]["401"]["content"]["application/problem+json"];
        let codes = &refused["schema"]["properties"]["properties"]["properties"]["errorCode"];
        assert_eq!(codes["enum"], json!(["UNAUTHORIZED"]), "{}", spelling.path);
    }
}

/// Where an answer is not as the document says.
async fn faults(rest: &Rest, method: &str, described: &str, path: &str) -> Vec<String> {
    let document = rest.get("/openapi.json").await.ok();
    let said = rest.send(method, path, "").await;
    let answers = &document["paths"][described][method.to_ascii_lowercase()]["responses"];
    let media = said.headers["content-type"].to_str().expect("text");
    let mut schema = answers[said.status.as_str()]["content"][media]["schema"].clone();
    assert!(schema.is_object(), "{answers}: {said:?}");
    schema["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let answer = said.json();
    let errors = validator.iter_errors(&answer);
    errors.map(|error| error.to_string()).collect()
}

#[tokio::test]
async fn answers_are_as_the_document_says() {
    let server = Server::start();
    let rest = server.rest();
    let _member = Member::join(&server, &[]).await;
    let waits = json!({"document": {
        "kind": "Workflow", "name": "waits", "version": "1",
        "start": {"waitForSignal": {"type": "go", "timeoutMs": 3_600_000, "onTimeout": "flo.TimedOut"},
            "transitions": {"success": "flo.Completed"}}}});
    let connection = server.connect().await;
    connection.ok("RunDefinitionCreateRequest", waits).await;
    let start = json!({"definition": "waits", "input": {}}).to_string();
    let run = rest.post("/api/runs", start).await.ok()["runId"].clone();
    let run = run.as_str().expect("an id");
    for (method, described) in [
        ("GET", "/compute/members"),
        ("GET", "/runs"),
        ("GET", "/runs/{runId}"),
        ("POST", "/workflows/{runId}/cancel"),
        // What has ended is a bad request.
        ("POST", "/workflows/{runId}/cancel"),
        ("POST", "/workflows/{runId}/signal/{event}"),
        ("GET", "/events/{type}/schema"),
    ] {
        let path = described.replace("{runId}", run).replace("{event}", "go");
        let path = path.replace("{type}", "%FF");
        let faults = faults(&rest, method, described, &format!("/api{path}")).await;
        assert!(faults.is_empty(), "{method} {path}: {faults:?}");
    }
}

#[tokio::test]
async fn a_search_that_tests_too_many_entities_is_refused_as_the_document_says() {
    let server = Server::with(&[("CYODA_SQLITE_SEARCH_SCAN_LIMIT", "1")]);
    let rest = server.rest();
    let model = "/api/model/import/JSON/SAMPLE_DATA/doc/1";
    rest.post(model, r#"{"name":"a"}"#.to_owned()).await.ok();
    rest.put("/api/model/doc/1/lock", String::new()).await.ok();
    let two = r#"[{"name":"a"},{"name":"b"}]"#.to_owned();
    rest.post("/api/entity/JSON/doc/1", two).await.ok();
    let condition = json!({"type": "simple", "jsonPath": "$.name", "operatorType": "MATCHES_PATTERN", "value": "[ab]"});
    let said = rest
        .post("/api/search/doc/1", condition.to_string())
        .await
        .json();
    assert_eq!(said["properties"]["errorCode"], "SCAN_BUDGET_EXHAUSTED");
    let document = rest.get("/openapi.json").await.ok();
    let answers = &document["paths"]["/search/{entityName}/{modelVersion}"]["post"]["responses"];
    let mut schema = answers["400"]["content"]["application/problem+json"]["schema"].clone();
    schema["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&said), "{said}");
}

#[tokio::test]
async fn a_stream_is_not_held_back_and_a_run_that_has_ended_has_none() {
    let server = Server::start();
    let rest = server.rest();
    let connection = server.connect().await;
    let ends = json!({"document": {
        "kind": "Workflow", "name": "ends", "version": "1",
        "start": {"waitForSignal": {"type": "go", "timeoutMs": 3_600_000, "onTimeout": "flo.TimedOut"},
            "transitions": {"success": "flo.Completed"}}}});
    connection.ok("RunDefinitionCreateRequest", ends).await;
    let start = json!({"definition": "ends", "input": {}}).to_string();
    let run = rest.post("/api/runs", start).await.ok()["runId"].clone();
    let run = run.as_str().expect("an id");
    let cancel = format!("/api/runs/{run}/cancel");
    rest.post(&cancel, "{}".to_owned()).await.ok();
    let stream = format!("/api/runs/{run}/history/stream?fromSequence=0");
    let whole = rest.get(&stream).await;
    assert_eq!(whole.headers["x-accel-buffering"], "no");
    assert_eq!(whole.headers["cache-control"], "no-cache, no-transform");
    let mut lines = whole.text.lines().rev();
    let last = lines.find_map(|line| line.strip_prefix("id: "));
    let rest = rest.with("last-event-id", last.expect("an id"));
    assert_eq!(rest.get(&stream).await.status, 204);
}
