//! A trace that a caller has begun is continued by the members that work for it (W3C Trace Context).

use serde_json::json;

use crate::support::{
    Member, PATIENCE, Reply, Server, create, governed_model, new_entity, processed_by, request,
    sync_processor,
};

const SPAN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-00";
const STATE: &str = "vendor=value";

#[tokio::test]
async fn a_member_is_sent_the_trace_of_the_request_however_it_came() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let processors = json!([sync_processor("traced", json!({}))]);
    let model = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(processors),
    )
    .await;
    let mut calls = member.record(|_| Reply::Nothing);
    let mut traced = async || {
        let call = tokio::time::timeout(PATIENCE, calls.recv()).await;
        let call = call.expect("a call in time").expect("a call");
        let named = |name| call.event.attribute(name).map(ToOwned::to_owned);
        (named("traceparent"), named("tracestate"))
    };
    let both = (Some(SPAN.to_owned()), Some(STATE.to_owned()));
    let text = |text: &str| interlock::event::AttributeValue::String(text.into());
    let new = |id: &str| {
        request(
            "EntityCreateRequest",
            id,
            new_entity(&model, &json!({"n": 1})),
        )
    };

    // On the stream, as attributes.
    let event = new("1").with("traceparent", text(SPAN));
    connection.ask(event.with("tracestate", text(STATE))).await;
    assert_eq!(traced().await, both);
    // By a unary method, as metadata; the attribute of the event comes first.
    let metadata = [("traceparent", SPAN), ("tracestate", STATE)];
    let called = connection.unary("entityManage", new("2"), &metadata).await;
    called.expect("an answer");
    assert_eq!(traced().await, both);
    let event = new("3").with("traceparent", text(OTHER));
    let called = connection.unary("entityManage", event, &metadata).await;
    called.expect("an answer");
    assert_eq!(traced().await, (Some(OTHER.to_owned()), None));
    // Over REST, as headers: at a path, and as an event.
    let rest = server.rest().with("traceparent", SPAN);
    let rest = rest.with("tracestate", STATE);
    rest.post("/api/entity/JSON/doc/1", r#"{"n":1}"#).await.ok();
    assert_eq!(traced().await, both);
    let mut data = new_entity(&model, &json!({"n": 1}));
    data["id"] = json!("4");
    let event = json!({
        "specversion": "1.0", "id": "4", "source": "test", "type": "EntityCreateRequest",
        "data": data,
    });
    let sent = rest.with("content-type", "application/cloudevents+json");
    sent.post("/api/events", event.to_string()).await.ok();
    assert_eq!(traced().await, both);

    // None is none, and what is not valid is ignored.
    create(&connection, &model, json!({"n": 1})).await;
    assert_eq!(traced().await, (None, None));
    for bad in [
        "",
        "00-0-0-00",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    ] {
        connection
            .ask(new("5").with("traceparent", text(bad)))
            .await;
        assert_eq!(traced().await, (None, None), "{bad}");
    }
}

#[tokio::test]
async fn a_stream_begins_with_the_version_of_the_server() {
    let server = Server::start();
    let connection = server.connect().await;
    let frames = tokio_stream::pending::<interlock::event::frame::Frame>();
    let stream = connection.client().start_streaming(frames).await;
    let stream = stream.expect("a stream");
    let version = stream.metadata().get("interlock-version");
    assert_eq!(version.expect("named"), env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn answers_of_other_methods_say_the_version_of_the_server() {
    let server = Server::start();
    let connection = server.connect().await;
    let frame = |kind| interlock::event::frame::Frame::from(request(kind, "r-1", json!({})));
    let mut client = connection.client();
    let feed = client.entity_search_collection(frame("EntityChangesSubscribeRequest"));
    let feed = feed.await.expect("a feed");
    let model = client.entity_model_manage(frame("EntityModelGetAllRequest"));
    let model = model.await.expect("an answer");
    for metadata in [feed.metadata(), model.metadata()] {
        let version = metadata.get("interlock-version");
        assert_eq!(version.expect("named"), env!("CARGO_PKG_VERSION"));
    }
}
