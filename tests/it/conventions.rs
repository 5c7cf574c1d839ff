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
        "2100-01-01T00:00:00.000000%2B0000",
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
async fn booleans_are_written_as_in_settings() {
    let (_server, _connection, rest, id) = stage().await;
    let all = r#"{"type":"group","operator":"AND","conditions":[]}"#;
    for (value, is_explained) in [("True", true), ("1", true), ("F", false), ("FALSE", false)] {
        rest.get(&format!("/api/entity/{id}?waitForConsistencyAfter={value}"))
            .await
            .ok();
        let search = "/api/search/direct/doc/1";
        let path = format!("{search}?trackingRead={value}&explain={value}");
        let said = rest.post(&path, all).await;
        assert_eq!(said.json()["servedBy"].is_array(), is_explained, "{said:?}");
    }
    let deleted = rest.delete("/api/entity/doc/1?verbose=True").await.ok();
    assert_eq!(deleted["ids"], json!([id]));
}

#[tokio::test]
async fn a_model_may_be_called_like_a_segment_of_a_path() {
    let server = Server::start();
    let rest = server.rest();
    let all = r#"{"type":"group","operator":"AND","conditions":[]}"#;
    for name in [
        "transitions",
        "states",
        "async",
        "stats",
        "changes",
        "stream",
        "direct",
        "live",
        "query",
        "explain",
        "JSON",
        "entity",
    ] {
        rest.lock_model(name, r#"{"n":1}"#).await;
        let id = rest.create(name, r#"{"n":1}"#).await;
        let xml = format!("/api/entity/XML/{name}/1");
        rest.post(&xml, "<doc><n>2</n></doc>").await.ok();
        let many = format!("/api/entity/JSON/{name}/1");
        rest.post(&many, r#"[{"n":3}]"#).await.ok();
        let found = rest.post(&format!("/api/search/{name}/1"), all).await.ok();
        assert_eq!(found.as_array().map(Vec::len), Some(3), "{name}");
        let grouped = rest
            .post(
                &format!("/api/entity/stats/{name}/1/query"),
                r#"{"groupBy":["state"]}"#,
            )
            .await
            .ok();
        assert_eq!(grouped[0]["count"], 3, "{name}: {grouped}");
        let counted = rest
            .get(&format!("/api/entity/stats/states/{name}/1"))
            .await;
        assert_eq!(counted.ok()[0]["count"], 3, "{name}");
        // The paths that have the segment are still there.
        rest.get(&format!("/api/entity/{id}/transitions"))
            .await
            .ok();
        rest.post(&format!("/api/entity/{id}/transitions/NONE"), "")
            .await
            .refused(404, "TRANSITION_NOT_FOUND");
    }
}

#[tokio::test]
async fn a_failure_names_the_parameter_that_is_wrong() {
    let (_server, _connection, rest, id) = stage().await;
    let states = (0..1_001).map(|n| format!("states=S{n}"));
    let states = states.collect::<Vec<_>>().join("&");
    let none = uuid::Uuid::nil();
    for (path, parameter) in [
        (format!("audit/entity/{id}?limit=0"), "limit"),
        (format!("audit/entity/{id}?severity=zz"), "severity"),
        (
            format!("audit/entity/{id}?transactionId=zz"),
            "transactionId",
        ),
        (
            format!("audit/entity/{id}/workflow/zz/finished"),
            "transactionId",
        ),
        (
            format!("entity/{id}/transitions?transactionId={none}"),
            "transactionId",
        ),
        (
            format!("entity/{id}/transitions?transactionId=zz"),
            "transactionId",
        ),
        (format!("entity/{id}?transactionId=zz"), "transactionId"),
        (
            format!("entity/{id}/explain?transactionId=zz"),
            "transactionId",
        ),
        (
            "platform-api/entity/fetch/transitions".to_owned(),
            "entityClass",
        ),
        (
            "platform-api/entity/fetch/transitions?entityClass=doc.1".to_owned(),
            "entityId",
        ),
        (
            "model/doc/1/workflow/diagram?format=zz".to_owned(),
            "format",
        ),
        (format!("entity/stats/states?{states}"), "states"),
    ] {
        let problem = rest.get(&format!("/api/{path}")).await;
        let problem = problem.refused(400, "BAD_REQUEST");
        assert_eq!(problem["properties"]["parameter"], parameter, "{problem}");
    }
    let path = format!("/api/platform-api/entity/transition?entityId={id}");
    let problem = rest.put(&path, "").await.refused(400, "BAD_REQUEST");
    assert_eq!(problem["properties"]["parameter"], "transitionName");
}

#[tokio::test]
async fn a_compressed_body_is_refused_with_the_reason() {
    let (_server, _connection, rest, _) = stage().await;
    let said = rest
        .with("content-encoding", "gzip")
        .post("/api/entity/JSON/doc/1", &b"\x1f\x8b\x08\x00"[..])
        .await;
    let problem = said.refused(400, "BAD_REQUEST");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(detail.contains("without Content-Encoding"), "{detail}");
}

#[tokio::test]
async fn head_gives_the_length_that_get_gives_if_any() {
    let (_server, _connection, rest, id) = stage().await;
    for rest in [&rest, &rest.with("origin", "http://localhost:3000")] {
        for path in ["/api/entity/doc/1", "/api/entity/stats", "/api/account"] {
            let (get, head) = (rest.get(path).await, rest.send("HEAD", path, "").await);
            assert_eq!((head.status.as_u16(), head.text.as_str()), (200, ""));
            for name in ["content-length", "content-type"] {
                assert_eq!(head.headers.get(name), get.headers.get(name), "{path}");
            }
        }
        let path = format!("/api/entity/{id}");
        let head = rest.send("HEAD", &path, "").await;
        let length = rest.get(&path).await.text.len().to_string();
        assert_eq!(head.headers["content-length"], length.as_str());
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
    for name in ["X-Tx-Token", "If-Match"] {
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
