//! The five methods beside the stream, and the statuses (`grpc.md` §5–§8, §14).

use interlock::event::{
    Data, Event, EventType,
    frame::Frame,
    proto::{CloudEvent, envelope::cloud_event::CloudEventAttributeValue},
};
use prost::Message as _;
use serde_json::{Value, json};
use tonic::{Code, Request};

use crate::support::{Server, code, create, get, locked_model, new_entity, payload_of, request};

#[tokio::test]
async fn each_method_takes_the_types_of_its_family() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let condition = json!({"type": "group", "operator": "AND", "conditions": []});
    let of = |kind: &str, payload: Value| request(kind, "7", payload);
    let unary = async |method: &str, event: Event| connection.unary(method, event, &[]).await;
    let streaming =
        async |method: &str, event: Event| connection.streaming(method, event, &[]).await;
    let found = unary(
        "entitySearch",
        of("EntityGetRequest", json!({"entityId": id})),
    )
    .await
    .expect("answered");
    assert_eq!(
        (
            payload_of(&found)["id"].clone(),
            payload_of(&found)["requestId"].clone()
        ),
        (json!("7"), json!("7"))
    );
    assert!(
        found.attributes.is_empty(),
        "no correlation where there is one answer to one call"
    );
    let listed = streaming(
        "entitySearchCollection",
        of("EntityGetAllRequest", json!({"model": model})),
    )
    .await
    .expect("answered");
    assert_eq!(listed.len(), 1, "no end event");
    let listed = streaming(
        "entitySearchCollection",
        of("EntityGetRequest", json!({"entityId": id})),
    )
    .await
    .expect("a superset");
    assert_eq!(listed.len(), 1);
    let empty = json!({"model": model, "condition": {"type": "simple", "jsonPath": "$.n", "operatorType": "EQUALS", "value": 5}});
    assert!(
        streaming("entitySearchCollection", of("EntitySearchRequest", empty))
            .await
            .expect("answered")
            .is_empty()
    );
    let all = json!({"model": model, "condition": condition});
    let made = streaming(
        "entityManageCollection",
        of(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": [{"model": model, "data": {"n": 2}}]}),
        ),
    )
    .await
    .expect("answered");
    assert_eq!(
        (made.len(), made[0].kind),
        (1, EventType::EntityTransactionResponse)
    );
    unary(
        "entityManage",
        of("EntityDeleteAllRequest", json!({"model": model})),
    )
    .await
    .expect("a superset");
    for (method, event) in [
        (
            "entityManage",
            of("EntityGetAllRequest", json!({"model": model})),
        ),
        ("entityManage", of("EntityModelGetAllRequest", json!({}))),
        ("entitySearch", of("EntitySearchRequest", all)),
        (
            "entitySearch",
            of("EntityCreateRequest", new_entity(&model, &json!({"n": 1}))),
        ),
        (
            "entityModelManage",
            of("EntityGetRequest", json!({"entityId": id})),
        ),
        (
            "entityManage",
            of("EventCancelRequest", json!({"requestId": "1"})),
        ),
    ] {
        let kind = event.kind;
        assert_eq!(
            unary(method, event).await.expect_err("refused").code(),
            Code::InvalidArgument,
            "{method} {kind}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_read_has_a_status_and_what_is_refused_is_in_band() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let with = |kind: EventType, data: &str| Event {
        id: "1".into(),
        ..Event::ours(kind, data.to_owned())
    };
    let base = r#""id":"x","dataFormat":"JSON""#;
    for (event, reported) in [
        (
            Event {
                data: Data::None,
                ..with(EventType::EntityCreateRequest, "")
            },
            "it carries no data",
        ),
        (
            Event {
                data: Data::Other {
                    type_url: "t".into(),
                    value: vec![].into(),
                },
                ..with(EventType::EntityCreateRequest, "")
            },
            "`proto_data` is not taken",
        ),
        (
            Event {
                data: Data::Binary(vec![0xff].into()),
                ..with(EventType::EntityCreateRequest, "")
            },
            "not UTF-8",
        ),
        (with(EventType::EntityCreateRequest, "{"), "invalid payload"),
        (
            with(
                EventType::EntityCreateRequest,
                r#"{"dataFormat":"JSON","payload":{"model":{"name":"m","version":1},"data":{}}}"#,
            ),
            "missing field `id`",
        ),
        (
            with(EventType::EntityCreateRequest, &format!("{{{base}}}")),
            "missing field `payload`",
        ),
        (
            with(
                EventType::EntityCreateRequest,
                &format!(
                    r#"{{{base},"payload":{{"model":{{"name":"m","version":"1"}},"data":{{}}}}}}"#
                ),
            ),
            "invalid type",
        ),
        (
            with(
                EventType::EntityCreateRequest,
                r#"{"id":"x","dataFormat":"json","payload":{"model":{"name":"m","version":1},"data":{}}}"#,
            ),
            "unknown variant `json`",
        ),
        (
            with(
                EventType::EntityCreateCollectionRequest,
                &format!(r#"{{{base},"payloads":[]}}"#),
            ),
            "`payloads` is empty",
        ),
        (
            with(
                EventType::EntityUpdateCollectionRequest,
                &format!(r#"{{{base},"payloads":[]}}"#),
            ),
            "collection is empty",
        ),
    ] {
        let status = connection
            .unary("entityManage", event, &[])
            .await
            .expect_err("refused");
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert!(
            status.message().contains(reported),
            "{} / {reported}",
            status.message()
        );
    }
    let time = with(
        EventType::EntityGetRequest,
        r#"{"id":"x","entityId":"e","pointInTime":"yesterday"}"#,
    );
    assert_eq!(
        connection
            .unary("entitySearch", time, &[])
            .await
            .expect_err("refused")
            .code(),
        Code::InvalidArgument
    );
    let search = with(
        EventType::EntitySearchRequest,
        &json!({"id": "x", "model": model, "condition": {"type": "fancy"}}).to_string(),
    );
    assert_eq!(
        connection
            .streaming("entitySearchCollection", search, &[])
            .await
            .expect_err("refused")
            .code(),
        Code::InvalidArgument
    );
    let lock = with(
        EventType::EntityModelTransitionRequest,
        &json!({"id": "x", "model": model, "transition": "FREEZE"}).to_string(),
    );
    assert_eq!(
        connection
            .unary("entityModelManage", lock, &[])
            .await
            .expect_err("refused")
            .code(),
        Code::InvalidArgument
    );
    // An id that is none is the id of nothing; members nobody knows are ignored.
    let unknown = with(
        EventType::EntityGetRequest,
        r#"{"id":"x","entityId":"not a uuid","colour":"red"}"#,
    );
    let answer = payload_of(
        &connection
            .unary("entitySearch", unknown, &[])
            .await
            .expect("in-band"),
    );
    assert_eq!(
        (code(&answer).as_str(), &answer["payload"]),
        ("ENTITY_NOT_FOUND", &json!({"type": "JSON"}))
    );
    // A time without an offset is UTC.
    let time = with(
        EventType::EntityGetRequest,
        r#"{"id":"x","entityId":"e","pointInTime":"2026-01-01T00:00:00"}"#,
    );
    assert!(connection.unary("entitySearch", time, &[]).await.is_ok());
    // Bytes that are JSON are as good as text.
    let id = create(&connection, &model, json!({"n": 1})).await;
    let bytes = json!({"id": "x", "entityId": id}).to_string().into_bytes();
    let binary = Event {
        data: Data::Binary(bytes.into()),
        ..with(EventType::EntityGetRequest, "")
    };
    assert_eq!(
        payload_of(
            &connection
                .unary("entitySearch", binary, &[])
                .await
                .expect("answered")
        )["success"],
        true
    );
}

#[tokio::test]
async fn failures_have_what_the_answers_type_requires() {
    let server = Server::start();
    let connection = server.connect().await;
    let nil = "00000000-0000-0000-0000-000000000000";
    let model = json!({"name": "none", "version": 1});
    for (kind, payload, expected) in [
        (
            "EntityModelImportRequest",
            json!({"model": model, "dataFormat": "JSON", "converter": "SIMPLE_VIEW", "payload": {}}),
            json!({"modelId": nil}),
        ),
        (
            "EntityModelTransitionRequest",
            json!({"model": model, "transition": "LOCK"}),
            json!({"modelId": nil, "state": ""}),
        ),
        (
            "EntityCreateRequest",
            new_entity(&model, &json!({})),
            json!({"requestId": "7", "transactionInfo": {"entityIds": []}}),
        ),
        (
            "EntityDeleteRequest",
            json!({"entityId": nil}),
            json!({"requestId": "7", "entityId": nil, "model": {"name": "", "version": 0}, "transactionId": nil}),
        ),
        (
            "EntityDeleteAllRequest",
            json!({"model": model}),
            json!({"requestId": "7", "entityIds": [], "modelId": nil, "numDeleted": 0}),
        ),
        (
            "EntityPatchRequest",
            json!({"patchFormat": "MERGE_PATCH", "payload": {"entityId": nil, "patch": {}}}),
            json!({"transactionInfo": {"entityIds": []}}),
        ),
        (
            "EntityModelSetUniqueKeysRequest",
            json!({"model": model, "uniqueKeys": []}),
            json!({"modelId": nil, "state": ""}),
        ),
        (
            "EntitySnapshotSearchRequest",
            json!({"model": model, "condition": {"type": "group", "operator": "AND", "conditions": []}}),
            json!({"status": {"snapshotId": nil, "status": "FAILED"}}),
        ),
    ] {
        let mut answers = connection.ask(request(kind, "7", payload)).await;
        let answer = payload_of(&answers.remove(0));
        assert_eq!(
            (&answer["id"], &answer["success"]),
            (&json!("7"), &json!(false))
        );
        for (name, value) in expected.as_object().expect("members") {
            assert_eq!(&answer[name], value, "{kind}: {answer}");
        }
    }
    let keys = json!({"model": model, "uniqueKeys": []});
    let refused = connection
        .fails("EntityModelSetUniqueKeysRequest", keys)
        .await;
    assert_eq!(refused, "MODEL_NOT_FOUND");
}

#[tokio::test]
async fn two_pairs_that_only_old_clients_use_work_as_they_expect() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(create(&connection, &model, json!({"n": n})).await);
    }
    let event = request("EntityGetRequest", "1", json!({"entityId": ids[0]}));
    assert_eq!(
        payload_of(
            &connection
                .unary("entityManage", event, &[])
                .await
                .expect("answered")
        )["payload"]["data"],
        json!({"n": 0})
    );
    let event = request(
        "EntityGetRequest",
        "1",
        json!({"entityId": "00000000-0000-0000-0000-000000000000"}),
    );
    assert_eq!(
        connection
            .unary("entityManage", event, &[])
            .await
            .expect_err("a status")
            .code(),
        Code::NotFound
    );
    for (number, expected) in [
        (json!(null), &ids[..2]),
        (json!(0), &ids[..2]),
        (json!(1), &ids[..2]),
        (json!(2), &ids[2..]),
    ] {
        let event = request(
            "EntityGetAllRequest",
            "1",
            json!({"model": model, "pageSize": 2, "pageNumber": number}),
        );
        let listed = connection
            .streaming("entityManageCollection", event, &[])
            .await
            .expect("answered");
        let listed: Vec<_> = listed
            .iter()
            .map(|event| {
                payload_of(event)["payload"]["meta"]["id"]
                    .as_str()
                    .expect("an id")
                    .to_owned()
            })
            .collect();
        assert_eq!(listed, expected, "{number}");
    }
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_by_name() {
    let server = Server::with(&[("INTERLOCK_GRPC_MAX_MESSAGE_BYTES", "100000")]);
    let connection = server.connect().await;
    let large = || {
        request(
            "EntityGetRequest",
            "1",
            json!({"entityId": "x".repeat(100_001)}),
        )
    };
    let status = connection
        .unary("entitySearch", large(), &[])
        .await
        .expect_err("refused");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(
        status
            .message()
            .contains("INTERLOCK_GRPC_MAX_MESSAGE_BYTES"),
        "{}",
        status.message()
    );
    let status = connection
        .streaming("entitySearchCollection", large(), &[])
        .await
        .expect_err("refused");
    assert_eq!(status.code(), Code::ResourceExhausted);
    connection.send(large()).await;
    let status = connection.end().await.expect_err("a status");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(
        status
            .message()
            .contains("INTERLOCK_GRPC_MAX_MESSAGE_BYTES")
    );
}

#[tokio::test]
async fn a_status_repeats_only_the_beginning_of_what_was_sent() {
    let server = Server::start();
    let mut client = server.connect().await.client();
    let long = "ä".repeat(20_000);
    let wrong = json!({"dataFormat": "JSON", "payload": {"model": {"name": "m", "version": long}, "data": {}}});
    let mut unknown = CloudEvent::from(request("EntityCreateRequest", "1", json!({})));
    unknown.r#type.clone_from(&long);
    for event in [
        unknown,
        CloudEvent::from(request("EntityCreateRequest", "1", wrong)),
    ] {
        let frame = Frame(event.encode_to_vec().into());
        let status = client.entity_manage(Request::new(frame)).await;
        let status = status.expect_err("it cannot be read");
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!((1..=2_048).contains(&status.message().len()), "{status}");
    }
}

#[tokio::test]
async fn a_token_without_a_value_is_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let write = request(
        "EntityCreateRequest",
        "1",
        new_entity(&model, &json!({"n": 1})),
    );
    let mut write = CloudEvent::from(write);
    let empty = CloudEventAttributeValue { attr: None };
    write.attributes.insert("cyodatxtoken".to_owned(), empty);
    let frame = Frame(write.encode_to_vec().into());
    let answer = connection.client().entity_manage(Request::new(frame)).await;
    let answer = answer.expect("in-band").into_inner().event();
    assert_eq!(
        code(&payload_of(&answer.expect("an event"))),
        "UNAUTHORIZED"
    );
    let all = connection.all("EntityGetAllRequest", json!({"model": model}));
    assert!(all.await.0.is_empty(), "nothing was written");
}

#[tokio::test]
async fn compressed_messages_are_taken_and_bombs_are_not() {
    let server = Server::start();
    let connection = server.connect().await;
    let mut client = connection
        .client()
        .send_compressed(tonic::codec::CompressionEncoding::Gzip);
    let small = Frame::from(request("EntityModelGetAllRequest", "1", json!({})));
    assert!(
        client
            .entity_model_manage(Request::new(small))
            .await
            .is_ok()
    );
    let bomb = Frame::from(request(
        "EntityGetRequest",
        "1",
        json!({"entityId": "x".repeat(20_000_000)}),
    ));
    let status = client
        .entity_search(Request::new(bomb))
        .await
        .expect_err("refused");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    get_models(&server).await;
}

async fn get_models(server: &Server) {
    server
        .connect()
        .await
        .ok("EntityModelGetAllRequest", json!({}))
        .await;
}

#[tokio::test]
async fn the_same_entity_is_the_same_through_every_door() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1.5})).await;
    let id = create(&connection, &model, json!({"n": 2.25})).await;
    let streamed = get(&connection, &id).await;
    let event = request("EntityGetRequest", "1", json!({"entityId": id}));
    let unary = payload_of(
        &connection
            .unary("entitySearch", event, &[])
            .await
            .expect("answered"),
    )["payload"]
        .clone();
    let rest = server.rest().get(&format!("/api/entity/{id}")).await.ok();
    assert_eq!(streamed, unary);
    assert_eq!(
        (&rest["data"], &rest["meta"]),
        (&streamed["data"], &streamed["meta"])
    );
    assert_eq!(rest["type"], "ENTITY");
}
