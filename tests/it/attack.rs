//! Bad input gets a documented error and loses nothing (R14).

use std::time::Duration;

use interlock::event::{Data, Event, EventType};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::Code;

use crate::support::{Server, create, get, locked_model, payload_of, request};

fn nested(levels: usize) -> String {
    format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
}

#[tokio::test]
async fn deep_nesting_is_refused_through_every_door() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let deep = nested(10_000);
    let event = |data: String| Event {
        id: connection.fresh_id().into(),
        ..Event::ours(EventType::EntityCreateRequest, data)
    };
    let new = format!(
        r#"{{"id":"x","dataFormat":"JSON","payload":{{"model":{model},"data":{{"n":{deep}}}}}}}"#
    );
    let answers = connection.ask(event(new.clone())).await;
    let refused = payload_of(&answers[0]);
    assert!(
        refused["error"]["message"]
            .as_str()
            .expect("text")
            .contains("nested deeper than 256 levels"),
        "{refused}"
    );
    assert_eq!(
        connection
            .unary("entityManage", event(new), &[])
            .await
            .expect_err("refused")
            .code(),
        Code::InvalidArgument
    );
    // Where nothing is expected to be deep.
    let answers = connection.ask(event(deep.clone())).await;
    assert_eq!(answers[0].kind, EventType::EventAckResponse);
    let rest = server.rest();
    for (path, body) in [
        ("/api/entity/JSON/doc/1", format!("{{\"n\":{deep}}}")),
        ("/api/model/import/JSON/SAMPLE_DATA/deep/1", deep.clone()),
        ("/api/search/direct/doc/1", deep.clone()),
        (
            "/api/model/doc/1/workflow/import",
            format!("{{\"workflows\":[{deep}]}}"),
        ),
        ("/api/entity/JSON", deep.clone()),
    ] {
        let said = rest.post(path, body).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, "BAD_REQUEST"),
            "{path}: {}",
            said.text
        );
    }
    let criterion = format!(
        r#"{{"workflows":[{{"name":"w","initialState":"A","criterion":{{"type":"group","operator":"AND","conditions":{deep}}},"states":{{"A":{{}}}}}}]}}"#
    );
    let said = rest
        .post("/api/model/doc/1/workflow/import", criterion)
        .await;
    assert_eq!(said.problem(), "VALIDATION_FAILED");
    let structured = rest.with("content-type", "application/cloudevents+json");
    let said = structured
        .post(
            "/api/events",
            format!(r#"{{"id":"1","type":"EntityCreateRequest","data":{deep}}}"#),
        )
        .await;
    assert_eq!(said.status.as_u16(), 200);
    assert_eq!(
        structured.post("/api/events", deep).await.problem(),
        "BAD_REQUEST"
    );
    // As deep as is allowed.
    let allowed = nested(255);
    assert_eq!(
        rest.post(
            "/api/model/import/JSON/SAMPLE_DATA/allowed/1",
            format!("{{\"n\":{allowed}}}")
        )
        .await
        .status
        .as_u16(),
        200
    );
    rest.put("/api/model/allowed/1/lock", "").await.ok();
    let made = rest
        .post("/api/entity/JSON/allowed/1", format!("{{\"n\":{allowed}}}"))
        .await
        .ok();
    let id = made[0]["entityIds"][0].as_str().expect("an id");
    assert!(
        rest.get(&format!("/api/entity/{id}"))
            .await
            .text
            .contains(&allowed)
    );
    for converter in ["SIMPLE_VIEW", "JSON_SCHEMA"] {
        assert_eq!(
            rest.get(&format!("/api/model/export/{converter}/allowed/1"))
                .await
                .status
                .as_u16(),
            200
        );
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    locked_model(&connection, "doc", json!({"t": "x"})).await;
    let rest = server.rest();
    let body = |bytes: usize| format!("{{\"t\":\"{}\"}}", "x".repeat(bytes - 8));
    let largest = rest.post("/api/entity/JSON/doc/1", body(10 << 20)).await;
    assert_eq!(
        largest.status.as_u16(),
        200,
        "{}",
        &largest.text[..200.min(largest.text.len())]
    );
    let said = rest
        .post("/api/entity/JSON/doc/1", body((10 << 20) + 1))
        .await;
    assert_eq!(
        (said.status.as_u16(), said.problem().as_str()),
        (400, "BAD_REQUEST")
    );
    assert!(
        said.json()["detail"]
            .as_str()
            .expect("text")
            .contains("failed to read body")
    );
    assert_eq!(
        connection
            .all(
                "EntityGetAllRequest",
                json!({"model": {"name": "doc", "version": 1}})
            )
            .await
            .0
            .len(),
        1
    );
}

#[tokio::test]
async fn text_that_is_not_utf8_is_refused_through_every_door() {
    let server = Server::start();
    let connection = server.connect().await;
    locked_model(&connection, "doc", json!({"t": "x"})).await;
    let mut bytes = br#"{"t":"?"}"#.to_vec();
    bytes[6] = 0xff;
    let rest = server.rest();
    for path in [
        "/api/entity/JSON/doc/1",
        "/api/model/import/JSON/SAMPLE_DATA/x/1",
        "/api/search/direct/doc/1",
        "/api/model/doc/1/workflow/import",
    ] {
        let said = rest.post(path, bytes.clone()).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, "BAD_REQUEST"),
            "{path}"
        );
    }
    for mode in [
        "application/cloudevents+json",
        "application/cloudevents-batch+json",
    ] {
        let said = rest
            .with("content-type", mode)
            .post("/api/events", bytes.clone())
            .await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, "BAD_REQUEST"),
            "{mode}"
        );
    }
    let event = Event {
        id: "1".into(),
        data: Data::Binary(bytes.into()),
        ..Event::ours(EventType::EntityCreateRequest, String::new())
    };
    assert_eq!(
        connection
            .unary("entityManage", event.clone(), &[])
            .await
            .expect_err("refused")
            .code(),
        Code::InvalidArgument
    );
    assert_eq!(
        connection.ask(event).await[0].kind,
        EventType::EventAckResponse
    );
    for path in [
        "/api/entity/%ff",
        "/api/entity/doc/1?pageSize=%ff",
        "/api/model/%ff%fe/1/lock",
    ] {
        let said = rest.get(path).await;
        assert!(said.status.is_client_error(), "{path}: {said:?}");
    }
    // Half of a surrogate pair is no text either.
    for data in [r#"{"t":"\ud800"}"#, r#"{"\udc00":1}"#] {
        assert_eq!(
            rest.post("/api/entity/JSON/doc/1", data).await.problem(),
            "BAD_REQUEST"
        );
    }
}

#[tokio::test]
async fn odd_documents_are_kept_or_refused_but_never_changed() {
    let server = Server::start();
    let rest = server.rest();
    let kept = [
        r#"{"a":""}"#,
        r#"{"a":"\u0000\u0001\b\f\n\r\t\"\\/"}"#,
        r#"{"a":"𝄞 \u202e é"}"#,
        r#"{"":{"":[{}]}}"#,
        r#"{"a.b":1,"a[0]":2,"$":3,"'":4,"\"":5}"#,
        r#"{"n":[1e400,-1e-400,0.1e1,123456789012345678901234567890]}"#,
        r#"{"__proto__":{"x":1},"constructor":null}"#,
    ];
    for (index, document) in kept.iter().enumerate() {
        let model = format!("odd{index}");
        rest.post(
            &format!("/api/model/import/JSON/SAMPLE_DATA/{model}/1"),
            *document,
        )
        .await
        .ok();
        rest.put(&format!("/api/model/{model}/1/lock"), "")
            .await
            .ok();
        let made = rest
            .post(&format!("/api/entity/JSON/{model}/1"), *document)
            .await
            .ok();
        let id = made[0]["entityIds"][0].as_str().expect("an id").to_owned();
        let said = rest.get(&format!("/api/entity/{id}")).await;
        match serde_json::from_str::<Value>(document) {
            Ok(value) => assert_eq!(said.json()["data"], value, "{document}"),
            // Numbers no machine has: digit for digit.
            Err(_) => assert!(
                said.text.contains(&format!("\"data\":{document}")),
                "{document}: {}",
                said.text
            ),
        }
        assert!(
            rest.get(&format!("/api/model/export/SIMPLE_VIEW/{model}/1"))
                .await
                .status
                .is_success()
        );
    }
    for document in [
        r#"{"a":1,"a":2}"#,
        "{\"a\":1}}",
        "{\"a\":01}",
        "{\"a\":NaN}",
        "{'a':1}",
        "{\"a\":1,}",
        "\u{feff}{}",
    ] {
        let said = rest
            .post("/api/model/import/JSON/SAMPLE_DATA/bad/1", document)
            .await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, "BAD_REQUEST"),
            "{document}"
        );
    }
}

#[tokio::test]
async fn huge_exponents_cost_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let sample: Box<serde_json::value::RawValue> =
        serde_json::from_str(r#"{"n":1e1000000000}"#).expect("JSON");
    let import = format!(
        r#"{{"id":"x","model":{{"name":"big","version":1}},"dataFormat":"JSON","converter":"SAMPLE_DATA","payload":{sample}}}"#
    );
    let event = |kind, data: String| Event {
        id: connection.fresh_id().into(),
        ..Event::ours(kind, data)
    };
    let answers = connection
        .ask(event(EventType::EntityModelImportRequest, import))
        .await;
    assert_eq!(payload_of(&answers[0])["success"], true);
    connection
        .ok(
            "EntityModelTransitionRequest",
            json!({"model": {"name": "big", "version": 1}, "transition": "LOCK"}),
        )
        .await;
    let exported = connection
        .ok(
            "EntityModelExportRequest",
            json!({"model": {"name": "big", "version": 1}, "converter": "SIMPLE_VIEW"}),
        )
        .await;
    assert_eq!(exported["payload"]["model"]["$"][".n"], "UNBOUND_INTEGER");
    let new = r#"{"id":"x","dataFormat":"JSON","payload":{"model":{"name":"big","version":1},"data":{"n":1e999999999}}}"#;
    let answers = connection
        .ask(event(EventType::EntityCreateRequest, new.to_owned()))
        .await;
    assert_eq!(payload_of(&answers[0])["success"], true);
    let search = r#"{"id":"x","model":{"name":"big","version":1},"condition":{"type":"simple","jsonPath":"$.n","operatorType":"LESS_THAN","value":1e1000000000}}"#;
    let answers = connection
        .ask(event(EventType::EntitySearchRequest, search.to_owned()))
        .await;
    assert_eq!(answers.len(), 2);
}

#[tokio::test]
async fn bytes_that_are_no_protocol_do_no_harm() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    for address in [server.grpc, server.http, server.admin] {
        for bytes in [
            &b"\x00\xff\x00\xff"[..],
            b"GET / HTTP/9.9\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            &vec![b'A'; 100_000],
        ] {
            let mut socket = tokio::net::TcpStream::connect(address)
                .await
                .expect("connects");
            let _ = socket.write_all(bytes).await;
            let mut answer = Vec::new();
            let _ =
                tokio::time::timeout(Duration::from_millis(200), socket.read_to_end(&mut answer))
                    .await;
        }
    }
    assert_eq!(get(&connection, &id).await["data"], json!({"n": 1}));
}

#[tokio::test]
async fn hostile_patterns_and_conditions_end_in_bounded_time() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"t": "x"})).await;
    create(&connection, &model, json!({"t": "a".repeat(50_000)})).await;
    let search = async |condition: Value| {
        connection
            .ask(request(
                "EntitySearchRequest",
                &connection.fresh_id(),
                json!({"model": model, "condition": condition}),
            ))
            .await
    };
    let pattern = |pattern: &str| json!({"type": "simple", "jsonPath": "$.t", "operatorType": "MATCHES_PATTERN", "value": pattern});
    assert_eq!(search(pattern("(a+)+b")).await.len(), 1);
    assert_eq!(search(pattern("(a*)*")).await.len(), 2);
    let answers = search(pattern("a{1000}{1000}{1000}")).await;
    assert_eq!(
        crate::support::code(&payload_of(&answers[0])),
        "INVALID_CONDITION"
    );
    let leaves: Vec<_> = (0..10_000)
        .map(|n| json!({"type": "simple", "jsonPath": "$.t", "operatorType": "EQUALS", "value": n}))
        .collect();
    assert_eq!(
        search(json!({"type": "group", "operator": "OR", "conditions": leaves}))
            .await
            .len(),
        1
    );
    for text in ["'; drop table entity; --", "\" or 1=1", "%_\\", "\u{0}"] {
        assert_eq!(search(json!({"type": "simple", "jsonPath": "$.t", "operatorType": "EQUALS", "value": text})).await.len(), 1);
        let answers = search(json!({"type": "simple", "jsonPath": format!("$['{}']", text.replace('\\', "\\\\").replace('\'', "\\'")), "operatorType": "EQUALS", "value": 1})).await;
        assert_eq!(
            crate::support::code(&payload_of(&answers[0])),
            "INVALID_FIELD_PATH",
            "{text}"
        );
    }
    // Many states and transitions, without time that grows with their square.
    let states: serde_json::Map<String, Value> = (0..20_000)
        .map(|n| (format!("S{n}"), json!({"transitions": [{"name": "T", "next": format!("S{}", (n + 1) % 20_000), "manual": n == 0}]})))
        .collect();
    let workflow = json!({"version": "1", "name": "w", "initialState": "S0", "states": states});
    connection
        .ok(
            "EntityWorkflowImportRequest",
            json!({"model": model, "workflows": [workflow]}),
        )
        .await;
}
