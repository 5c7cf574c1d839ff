//! `CloudEvents` over HTTP, in its three modes (`stream.md` §1).

use serde_json::{Value, json};

use crate::support::{Server, create, locked_model};

async fn stage() -> (Server, Value, String) {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1.5})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 2})).await;
    (server, model, id)
}

fn event(kind: &str, id: &str, data: Value) -> Value {
    json!({"specversion": "1.0", "id": id, "source": "/test", "type": kind, "data": data})
}

#[tokio::test]
async fn in_binary_mode_the_attributes_are_headers() {
    let (server, model, id) = stage().await;
    let rest = server
        .rest()
        .with("ce-specversion", "1.0")
        .with("ce-source", "/test")
        .with("ce-id", "q1")
        .with("content-type", "application/json");
    let said = rest
        .with("ce-type", "EntityGetRequest")
        .post(
            "/api/events",
            json!({"id": "x", "entityId": id}).to_string(),
        )
        .await;
    assert_eq!(said.status.as_u16(), 200);
    assert_eq!(
        (
            &said.headers["ce-type"],
            &said.headers["ce-requestid"],
            &said.headers["ce-source"]
        ),
        (
            &"EntityResponse".parse().expect("a header"),
            &"q1".parse().expect("a header"),
            &"cyoda".parse().expect("a header")
        )
    );
    assert_eq!(said.json()["payload"]["data"], json!({"n": 1}));
    let refused = rest
        .with("ce-type", "EntityGetRequest")
        .post("/api/events", "{}")
        .await;
    assert_eq!(
        (
            refused.status.as_u16(),
            refused.headers["ce-type"].to_str().expect("text")
        ),
        (200, "EventAckResponse")
    );
    let unknown = rest
        .with("ce-type", "Nonsense")
        .post("/api/events", "{}")
        .await;
    assert!(
        unknown.text.contains("UNKNOWN_EVENT_TYPE"),
        "{}",
        unknown.text
    );
    // A streamed answer is a batch.
    let many = rest
        .with("ce-type", "EntityGetAllRequest")
        .post(
            "/api/events",
            json!({"id": "x", "model": model}).to_string(),
        )
        .await;
    assert_eq!(
        many.headers["content-type"],
        "application/cloudevents-batch+json"
    );
    let events = many.json();
    assert_eq!(events.as_array().expect("a batch").len(), 3);
    assert_eq!(
        (
            &events[1]["sequence"],
            &events[2]["type"],
            &events[2]["streamend"]
        ),
        (&json!("2"), &json!("EventStreamEnd"), &json!(true))
    );
}

#[tokio::test]
async fn in_structured_mode_the_event_is_the_body() {
    let (server, _, id) = stage().await;
    let rest = server.rest().with(
        "content-type",
        "application/cloudevents+json; charset=utf-8",
    );
    let said = rest
        .post(
            "/api/events",
            event("EntityGetRequest", "q1", json!({"id": "x", "entityId": id})).to_string(),
        )
        .await;
    assert_eq!(said.headers["content-type"], "application/cloudevents+json");
    let answer = said.ok();
    assert_eq!(
        (
            &answer["type"],
            &answer["requestid"],
            &answer["specversion"]
        ),
        (&json!("EntityResponse"), &json!("q1"), &json!("1.0"))
    );
    assert_eq!(answer["data"]["payload"]["data"], json!({"n": 1}));
    let failed = rest
        .post(
            "/api/events",
            event(
                "EntityGetRequest",
                "q2",
                json!({"id": "x", "entityId": "none"}),
            )
            .to_string(),
        )
        .await
        .ok();
    assert_eq!(failed["data"]["success"], false);
    for body in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"id":"1","type":"EntityGetRequest","Bad Name":"x"}"#,
    ] {
        let said = rest.post("/api/events", body).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, "BAD_REQUEST"),
            "{body}"
        );
    }
    let unknown = rest
        .post(
            "/api/events",
            event("Nonsense", "q3", json!({})).to_string(),
        )
        .await
        .ok();
    assert_eq!(
        (&unknown["type"], &unknown["data"]["sourceEventId"]),
        (&json!("EventAckResponse"), &json!("q3"))
    );
}

#[tokio::test]
async fn in_batched_mode_every_event_is_answered_in_its_turn() {
    let (server, model, id) = stage().await;
    let rest = server
        .rest()
        .with("content-type", "application/cloudevents-batch+json");
    let batch = json!([
        event("EntityGetRequest", "a", json!({"id": "x", "entityId": id})),
        event("EntityGetAllRequest", "b", json!({"id": "x", "model": model})),
        {"id": "c", "type": "Nonsense"},
        event("EntityCreateRequest", "d", json!({"id": "x", "dataFormat": "JSON", "payload": {"model": model, "data": {"n": 3}}})),
        event("EntityGetAllRequest", "e", json!({"id": "x", "model": model, "pageSize": 1, "pageNumber": 2})),
    ]);
    let said = rest.post("/api/events", batch.to_string()).await;
    assert_eq!(
        said.headers["content-type"],
        "application/cloudevents-batch+json"
    );
    let reported: Vec<_> = said
        .ok()
        .as_array()
        .expect("a batch")
        .iter()
        .map(|event| {
            format!(
                "{} {}",
                event["requestid"].as_str().unwrap_or_default(),
                event["type"].as_str().expect("a type")
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            "a EntityResponse",
            "b EntityResponse",
            "b EntityResponse",
            "b EventStreamEnd",
            "c EventAckResponse",
            "d EntityTransactionResponse",
            "e EntityResponse",
            "e EventStreamEnd"
        ]
    );
    assert_eq!(rest.post("/api/events", "[]").await.text, "[]\n");
    let said = rest.post("/api/events", "{}").await;
    assert_eq!(
        (said.status.as_u16(), said.problem().as_str()),
        (400, "BAD_REQUEST")
    );
}

#[tokio::test]
async fn a_transaction_token_that_cannot_be_read_is_refused_and_nothing_is_written() {
    let (server, model, _) = stage().await;
    let rest = server.rest();
    let rest = rest.with("content-type", "application/cloudevents+json");
    let create = json!({"id": "x", "entityFormat": "JSON",
        "payload": {"model": model, "data": {"n": 3}}});
    let create = event("EntityCreateRequest", "1", create).to_string();
    for name in ["x-tx-token", "idempotency-key"] {
        let unreadable = rest.with(name, "é");
        let refused = unreadable.post("/api/events", create.clone());
        refused.await.refused(400, "BAD_REQUEST");
        let twice = rest.with(name, "a").with(name, "b");
        let refused = twice.post("/api/events", create.clone());
        refused.await.refused(400, "BAD_REQUEST");
    }
    let name = model["name"].as_str().expect("a name");
    let path = format!("/api/entity/{name}/{}", model["version"]);
    let found = server.rest().get(&path).await.ok();
    assert_eq!(found.as_array().map(Vec::len), Some(2), "{found}");
}
