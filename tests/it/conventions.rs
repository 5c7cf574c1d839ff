//! What holds of every path (`rest.md` §1 and §10).

use serde_json::json;

use crate::support::{Connection, Rest, Server, create, locked_model};

async fn stage() -> (Server, Connection, Rest, String) {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let rest = server.rest();
    (server, connection, rest, id)
}

#[tokio::test]
async fn an_instant_is_read_as_existing_clients_send_it() {
    let (_server, _connection, rest, id) = stage().await;
    for instant in [
        "2100-01-01T00:00:00",
        "2100-01-01T00:00:00Z",
        "2100-01-01T00:00:00.123456789Z",
        "2100-01-01T00:00:00+01:00",
        "2100-01-01T00:00:00%2B01:00",
        "2100-01-01T00:00:00-01:00",
        // Midnight UTC (`rest.md` §1).
        "2100-01-01",
    ] {
        rest.get(&format!("/api/entity/{id}?pointInTime={instant}"))
            .await
            .ok();
    }
    for instant in ["", "x", "2100-13-01", "2100-13-01T00:00:00Z", "4102444800"] {
        let said = rest
            .get(&format!("/api/entity/{id}?pointInTime={instant}"))
            .await;
        let problem = said.refused(400, "BAD_REQUEST");
        assert_eq!(problem["properties"]["parameter"], "pointInTime");
    }
}

#[tokio::test]
async fn parameters_without_effect_are_read_and_unknown_ones_are_not() {
    let (_server, _connection, rest, _) = stage().await;
    rest.get("/api/entity/doc/1?transactional=true&nonsense=%00&transactionTimeoutMillis=1&waitForConsistencyAfter=true&transactionSize=1")
        .await
        .ok();
    for (name, value) in [
        ("transactionTimeoutMillis", "soon"),
        ("transactionSize", "99999999999"),
        ("waitForConsistencyAfter", "perhaps"),
    ] {
        let said = rest.get(&format!("/api/entity/doc/1?{name}={value}")).await;
        let problem = said.refused(400, "BAD_REQUEST");
        assert_eq!(problem["properties"]["parameter"], name);
    }
}

#[tokio::test]
async fn limits_are_the_documented_ones() {
    let (_server, _connection, rest, _) = stage().await;
    for (query, fits) in [
        ("pageSize=0", true),
        ("pageSize=10000", true),
        ("pageSize=10001", false),
        ("pageSize=-1", false),
        ("pageNumber=214748", true),
        ("pageNumber=214749", false),
        ("pageNumber=x", false),
    ] {
        let said = rest.get(&format!("/api/entity/doc/1?{query}")).await;
        assert_eq!(said.status, if fits { 200 } else { 400 }, "{query}");
    }
    let everything = json!({"type": "group", "operator": "AND", "conditions": []}).to_string();
    for (limit, fits) in [("0", false), ("1", true), ("10000", true), ("10001", false)] {
        let path = format!("/api/search/direct/doc/1?limit={limit}");
        let said = rest.post(&path, everything.clone()).await;
        assert_eq!(said.status, if fits { 200 } else { 400 }, "{limit}");
    }
    for (window, fits) in [("0", false), ("1", true), ("1000", true), ("1001", false)] {
        let path = format!("/api/entity/JSON?transactionWindow={window}");
        let said = rest.post(&path, "[]").await;
        assert_eq!(said.status, if fits { 200 } else { 400 }, "{window}");
    }
}

#[tokio::test]
async fn a_body_may_be_as_large_as_documented() {
    let (_server, _connection, rest, id) = stage().await;
    let rest = rest.with("content-type", "application/json");
    let update = format!("/api/entity/JSON/{id}");
    let mib = |count: usize| vec![b' '; (count << 20) + 1];
    for (method, path, size, status) in [
        (
            "POST",
            "/api/model/import/JSON/SAMPLE_DATA/other/1",
            10,
            400,
        ),
        ("POST", "/api/model/doc/1/workflow/import", 10, 400),
        ("POST", "/api/entity/JSON/doc/1", 10, 400),
        ("PUT", update.as_str(), 10, 400),
        ("POST", "/api/search/direct/doc/1", 10, 400),
        ("POST", "/api/events", 10, 400),
        ("POST", "/api/message/new/s", 10, 413),
        ("DELETE", "/api/message", 10, 413),
        ("PUT", "/api/model/doc/1/unique-keys", 1, 400),
    ] {
        let said = rest.send(method, path, mib(size)).await;
        let problem = said.refused(status, "BAD_REQUEST");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains("failed to read body"), "{path}: {detail}");
    }
    // A condition for deletion has no documented limit.
    let deleted = rest.send("DELETE", "/api/entity/doc/1", mib(10)).await.ok();
    assert_eq!(deleted["deleteResult"]["numberOfEntititesRemoved"], 1);
}

#[tokio::test]
async fn headers_are_looked_at_where_they_mean_something() {
    let (_server, _connection, rest, id) = stage().await;
    let path = format!("/api/entity/{id}");
    let said = rest
        .with("accept", "text/html")
        .with("content-type", "text/plain")
        .get(&path)
        .await;
    assert_eq!(said.headers["content-type"], "application/json");
    assert!(said.text.ends_with('\n'));
    for name in ["etag", "last-modified"] {
        assert!(!said.headers.contains_key(name), "{name}");
    }
    for name in ["x-tx-token", "if-match"] {
        let twice = rest.with(name, "a").with(name, "b");
        let said = twice
            .put(&format!("/api/entity/JSON/{id}"), r#"{"n":2}"#)
            .await;
        let problem = said.refused(400, "BAD_REQUEST");
        assert_eq!(problem["properties"]["parameter"], name);
    }
    rest.with("x-tx-token", "forged")
        .get(&path)
        .await
        .refused(401, "UNAUTHORIZED");
    let listed = rest.get("/api/model").await;
    assert_eq!(
        (listed.status.as_u16(), listed.text.as_str()),
        (404, "404 page not found\n")
    );
    let wrong = rest.put("/api/model/", "").await;
    assert_eq!((wrong.status.as_u16(), wrong.text.as_str()), (405, ""));
}
