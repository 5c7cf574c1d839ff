//! The multiplexed stream (`stream.md` §2).

use std::{collections::HashSet, sync::Arc, time::Duration};

use interlock::event::{Event, EventType, frame::Frame};
use serde_json::{Value, json};
use tonic::Code;

use crate::support::{
    Connection, Member, Reply, Server, between_looks, client, code, create, get, governed_model,
    locked_model, new_entity, payload_of, processed_by, request, sync_processor,
};

fn everything() -> Value {
    json!({"type": "group", "operator": "AND", "conditions": []})
}

#[tokio::test]
async fn two_hundred_mixed_requests_are_all_answered_each_to_its_own() {
    let server = Server::start();
    let member = Member::join(&server, &[]).await;
    // The stream of the member is the one that asks.
    let connection = Arc::clone(&member.connection);
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let item = locked_model(&connection, "item", json!({"n": 1})).await;
    for n in 0..30 {
        create(&connection, &item, json!({"n": n})).await;
    }
    member.serve(|call, _| async move {
        let mut data = call.data().clone();
        data["n"] = json!(data["n"].as_i64().expect("a number") + 1_000);
        Reply::Data(data)
    });
    let ask = async |n: usize| match n % 5 {
        0 => {
            let made = connection
                .ok("EntityCreateRequest", new_entity(&doc, &json!({"n": n})))
                .await;
            let id = made["transactionInfo"]["entityIds"][0]
                .as_str()
                .expect("an id")
                .to_owned();
            assert_eq!(get(&connection, &id).await["data"]["n"], n + 1_000);
        }
        1 => {
            let (entities, end) = connection
                .all(
                    "EntitySearchRequest",
                    json!({"model": item, "condition": everything()}),
                )
                .await;
            assert_eq!(
                (entities.len(), &end["count"], &end["success"]),
                (30, &json!(30), &json!(true))
            );
        }
        2 => {
            let id = format!("00000000-0000-0000-0000-{n:012}");
            assert_eq!(
                connection
                    .fails("EntityGetRequest", json!({"entityId": id}))
                    .await,
                "ENTITY_NOT_FOUND"
            );
        }
        3 => {
            let (events, end) = connection
                .all(
                    "EntityGetAllRequest",
                    json!({"model": {"name": "none", "version": 1}}),
                )
                .await;
            assert_eq!(
                (code(&events[0]), code(&end)),
                ("MODEL_NOT_FOUND".to_owned(), "MODEL_NOT_FOUND".to_owned())
            );
        }
        _ => {
            let answers = connection
                .ask(request(
                    "EntityUpdateRequest",
                    &connection.fresh_id(),
                    json!({"nonsense": n}),
                ))
                .await;
            assert_eq!(
                (answers.len(), answers[0].kind),
                (1, EventType::EventAckResponse)
            );
        }
    };
    futures_util::future::join_all((0..200).map(ask)).await;
}

#[tokio::test]
async fn answers_come_as_they_are_ready() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let mut slow = connection
        .begin(request(
            "EntityCreateRequest",
            "slow",
            new_entity(&doc, &json!({"n": 1})),
        ))
        .await;
    let call = member.next().await;
    connection.ok("EntityModelGetAllRequest", json!({})).await;
    assert!(slow.try_recv().is_err());
    member.reply(&call, Reply::Nothing).await;
    assert_eq!(
        payload_of(&slow.recv().await.expect("an answer"))["requestId"],
        "slow"
    );
}

#[tokio::test]
async fn a_streamed_answer_is_numbered_and_ended() {
    let server = Server::start();
    let connection = server.connect().await;
    let item = locked_model(&connection, "item", json!({"n": 1})).await;
    for n in 0..3 {
        create(&connection, &item, json!({"n": n})).await;
    }
    let answers = connection
        .ask(request(
            "EntitySearchRequest",
            "q",
            json!({"model": item, "condition": everything()}),
        ))
        .await;
    let text = |event: &Event, name: &str| event.attribute(name).map(ToOwned::to_owned);
    let numbers: Vec<_> = answers
        .iter()
        .map(|event| text(event, "sequence"))
        .collect();
    assert_eq!(
        numbers,
        [
            Some("1".to_owned()),
            Some("2".to_owned()),
            Some("3".to_owned()),
            None
        ]
    );
    assert!(
        answers
            .iter()
            .all(|event| text(event, "requestid").as_deref() == Some("q"))
    );
    assert_eq!(
        answers
            .iter()
            .map(|event| &event.id)
            .collect::<HashSet<_>>()
            .len(),
        4,
        "ids of their own"
    );
    let end = &answers[3];
    assert_eq!(end.kind, EventType::EventStreamEnd);
    assert_eq!(
        end.attributes["streamend"],
        interlock::event::AttributeValue::Boolean(true)
    );
    assert_eq!(
        payload_of(end),
        json!({"id": "q", "requestId": "q", "count": 3, "success": true})
    );
    assert!(
        answers[..3]
            .iter()
            .all(|event| payload_of(event)["requestId"] == "q")
    );
}

#[tokio::test]
async fn a_bad_request_is_answered_and_never_ends_the_stream() {
    let server = Server::start();
    let connection = server.connect().await;
    let refused = async |event: Event| {
        let id = event.id.clone();
        let answers = connection.ask(event).await;
        let payload = payload_of(&answers[0]);
        assert_eq!(
            (answers[0].kind, &payload["sourceEventId"]),
            (EventType::EventAckResponse, &json!(id))
        );
        assert_eq!(
            (&payload["success"], &payload["error"]["code"]),
            (&json!(false), &json!("CLIENT_ERROR"))
        );
        code(&payload)
    };
    let with = |data: &str| Event {
        id: connection.fresh_id().into(),
        ..Event::ours(EventType::EntityCreateRequest, data.to_owned())
    };
    for data in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"id":"x"}"#,
        r#"{"id":5,"dataFormat":"JSON"}"#,
        r#"{"id":"x","dataFormat":"YAML","payload":{"model":{"name":"m","version":1},"data":1}}"#,
    ] {
        assert_eq!(refused(with(data)).await, "BAD_REQUEST", "{data}");
    }
    for data in [
        interlock::event::Data::None,
        interlock::event::Data::Binary(vec![0xff, 0xfe].into()),
    ] {
        assert_eq!(refused(Event { data, ..with("") }).await, "BAD_REQUEST");
    }
    // What only the server sends is no request.
    assert_eq!(
        refused(Event {
            kind: EventType::EntityResponse,
            ..with("{}")
        })
        .await,
        "UNKNOWN_EVENT_TYPE"
    );
    // Types and bytes that are not even events.
    for (frame, reported) in [
        (frame_of_type("NoSuchRequest", "u1"), "UNKNOWN_EVENT_TYPE"),
        (Frame(vec![0xff; 9].into()), "BAD_REQUEST"),
        (not_utf8("u2"), "BAD_REQUEST"),
    ] {
        connection.send_frame(frame).await;
        let ack = connection.unasked().await.expect("an acknowledgement");
        assert_eq!(
            (ack.kind, code(&payload_of(&ack)).as_str()),
            (EventType::EventAckResponse, reported)
        );
    }
    // An id is needed, and one that is not in use.
    connection
        .send(Event {
            id: "".into(),
            ..with("{}")
        })
        .await;
    let ack = payload_of(&connection.unasked().await.expect("an acknowledgement"));
    assert_eq!(
        (code(&ack).as_str(), &ack["sourceEventId"]),
        ("BAD_REQUEST", &json!(""))
    );
    connection.ok("EntityModelGetAllRequest", json!({})).await;
}

fn frame_of_type(kind: &str, id: &str) -> Frame {
    use prost::Message as _;
    let event = interlock::event::proto::CloudEvent {
        id: id.to_owned(),
        r#type: kind.to_owned(),
        data: Some(interlock::event::proto::envelope::cloud_event::Data::TextData("{}".to_owned())),
        ..Default::default()
    };
    Frame(event.encode_to_vec().into())
}

fn not_utf8(id: &str) -> Frame {
    let Frame(bytes) = frame_of_type("EntityGetRequest", id);
    let mut bytes = bytes.to_vec();
    let last = bytes.len() - 1;
    bytes[last] = 0xff;
    Frame(bytes.into())
}

#[tokio::test]
async fn an_id_that_is_in_work_is_refused_and_may_be_used_again() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let new = || {
        request(
            "EntityCreateRequest",
            "same",
            new_entity(&doc, &json!({"n": 1})),
        )
    };
    let mut answers = connection.begin(new()).await;
    let call = member.next().await;
    connection.send(new()).await;
    let refused = payload_of(&answers.recv().await.expect("a refusal"));
    assert_eq!(code(&refused), "BAD_REQUEST");
    member.reply(&call, Reply::Nothing).await;
    let answer = payload_of(&connection.unasked().await.expect("an answer"));
    assert_eq!(answer["success"], true, "of the first: {answer}");
    let mut again = connection.begin(new()).await;
    let call = member.next().await;
    member.reply(&call, Reply::Nothing).await;
    assert_eq!(
        payload_of(&again.recv().await.expect("an answer"))["success"],
        true
    );
}

#[tokio::test]
async fn a_streamed_answer_can_be_cancelled() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "large", json!({"text": "x"})).await;
    let text = "x".repeat(100_000);
    for _ in 0..4 {
        let payloads: Vec<_> = (0..100)
            .map(|_| json!({"model": model, "data": {"text": text}}))
            .collect();
        connection
            .ok(
                "EntityCreateCollectionRequest",
                json!({"dataFormat": "JSON", "payloads": payloads}),
            )
            .await;
    }
    let mut answers = connection
        .begin(request(
            "EntityGetAllRequest",
            "many",
            json!({"model": model, "pageSize": 400}),
        ))
        .await;
    answers.recv().await.expect("a first");
    let mut cancel = connection
        .begin(request(
            "EventCancelRequest",
            "c",
            json!({"requestId": "many"}),
        ))
        .await;
    let mut last = Vec::new();
    while let Some(event) = answers.recv().await {
        last.push(event);
    }
    let end = payload_of(last.last().expect("an end"));
    assert_eq!(
        (last[last.len() - 1].kind, &end["success"]),
        (EventType::EventStreamEnd, &json!(false)),
        "{end}"
    );
    assert_eq!(
        (code(&end), code(&payload_of(&last[last.len() - 2]))),
        ("CANCELLED".to_owned(), "CANCELLED".to_owned())
    );
    assert!(last.len() < 400, "{}", last.len());
    let ack = connection.unasked_or(&mut cancel).await;
    assert_eq!(
        (
            payload_of(&ack)["success"].clone(),
            payload_of(&ack)["sourceEventId"].clone()
        ),
        (json!(true), json!("c"))
    );
    connection
        .send(request(
            "EventCancelRequest",
            "d",
            json!({"requestId": "many"}),
        ))
        .await;
    let ack = payload_of(&connection.unasked().await.expect("an acknowledgement"));
    assert_eq!(code(&ack), "NOT_FOUND");
}

#[tokio::test]
async fn a_half_closed_stream_still_answers_what_is_in_work() {
    let server = Server::start();
    let mut connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let mut answers = connection
        .begin(request(
            "EntityCreateRequest",
            "last",
            new_entity(&doc, &json!({"n": 1})),
        ))
        .await;
    let call = member.next().await;
    connection.half_close();
    member.reply(&call, Reply::Nothing).await;
    assert_eq!(
        payload_of(&answers.recv().await.expect("an answer"))["success"],
        true
    );
    assert!(connection.end().await.is_ok());
}

#[tokio::test]
async fn answers_of_a_member_get_through_whatever_else_waits_on_its_stream() {
    let server = Server::with(&[
        ("INTERLOCK_STREAM_MAX_IN_FLIGHT", "4"),
        ("INTERLOCK_STREAM_MAX_QUEUED", "4"),
    ]);
    let member = Member::join(&server, &[]).await;
    let connection = Arc::clone(&member.connection);
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    // All of them wait for this member's answers; those beyond the queue are asked to retry.
    let asked: Vec<_> = (0..60)
        .map(|n| {
            request(
                "EntityCreateRequest",
                &format!("x{n}"),
                new_entity(&doc, &json!({"n": n})),
            )
        })
        .collect();
    let mut waiting = Vec::new();
    for event in asked {
        waiting.push(connection.begin(event).await);
    }
    member.serve(|_, _| async { Reply::Nothing });
    let mut answered = [0, 0];
    for mut answers in waiting {
        let payload = payload_of(&answers.recv().await.expect("an answer"));
        if payload["success"] == true {
            answered[0] += 1;
        } else {
            assert_eq!(
                (code(&payload).as_str(), &payload["error"]["retryable"]),
                ("TOO_MANY_REQUESTS", &json!(true)),
                "{payload}"
            );
            assert!(payload["error"]["properties"]["retryAfterMs"].is_u64());
            answered[1] += 1;
        }
    }
    assert!(
        answered[0] >= 8 && answered[0] + answered[1] == 60,
        "{answered:?}"
    );
}

#[tokio::test]
async fn a_stream_that_asks_too_much_is_not_read_until_there_is_room() {
    let server = Server::with(&[
        ("INTERLOCK_STREAM_MAX_IN_FLIGHT", "2"),
        ("INTERLOCK_STREAM_MAX_QUEUED", "2"),
    ]);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let asked: Vec<_> = (0..50)
        .map(|n| {
            request(
                "EntityCreateRequest",
                &format!("x{n}"),
                new_entity(&doc, &json!({"n": n})),
            )
        })
        .collect();
    let mut waiting = Vec::new();
    for event in asked {
        waiting.push(connection.begin(event).await);
    }
    // Two are in flight; nothing is dropped, nothing fails.
    let (one, other) = (member.next().await, member.next().await);
    member.reply(&one, Reply::Nothing).await;
    member.reply(&other, Reply::Nothing).await;
    member.serve(|_, _| async { Reply::Nothing });
    for mut answers in waiting {
        assert_eq!(
            payload_of(&answers.recv().await.expect("an answer"))["success"],
            true
        );
    }
}

#[tokio::test]
async fn a_reader_that_does_not_read_is_disconnected_and_others_are_not_held_up() {
    let server = Server::with(&[("INTERLOCK_STREAM_SEND_TIMEOUT", "500ms")]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "large", json!({"text": "x"})).await;
    let text = "x".repeat(500_000);
    let payloads: Vec<_> = (0..30)
        .map(|_| json!({"model": model, "data": {"text": text}}))
        .collect();
    connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": payloads}),
        )
        .await;
    // A stream whose answers nobody takes, on a connection of its own.
    let lazy = client(server.grpc).await;
    let (outbox, frames) = tokio::sync::mpsc::channel(64);
    let mut lazy = lazy
        .clone()
        .start_streaming(tokio_stream::wrappers::ReceiverStream::new(frames))
        .await
        .expect("a stream")
        .into_inner();
    for n in 0..40 {
        outbox
            .send(
                request(
                    "EntityGetAllRequest",
                    &format!("r{n}"),
                    json!({"model": model, "pageSize": 100}),
                )
                .into(),
            )
            .await
            .expect("open");
    }
    // Others go on, meanwhile and after; wait until the server has given the lazy one up.
    loop {
        connection.ok("EntityModelGetAllRequest", json!({})).await;
        if server
            .log
            .lock()
            .expect("no panic")
            .iter()
            .any(|line| line.contains("did not read its answers"))
        {
            break;
        }
        between_looks().await;
    }
    let status = loop {
        match lazy.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended well"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
}

#[tokio::test]
async fn a_member_that_sends_more_than_it_reads_is_held_back_and_keeps_its_calls() {
    const FLOOD: usize = 10_000;
    let server = Server::start();
    let connection = server.connect().await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let (outbox, frames) = tokio::sync::mpsc::channel::<Frame>(1);
    let mut inbound = client(server.grpc)
        .await
        .start_streaming(tokio_stream::wrappers::ReceiverStream::new(frames))
        .await
        .expect("a stream")
        .into_inner();
    let join = request("CalculationMemberJoinEvent", "j", json!({"tags": []}));
    outbox.send(join.into()).await.expect("open");
    let mut next = async || {
        let frame = inbound.message().await.expect("the stream is open");
        frame.expect("a frame").event().expect("an event")
    };
    assert_eq!(next().await.kind, EventType::CalculationMemberGreetEvent);
    let new = new_entity(&model, &json!({"n": 1}));
    let mut answers = connection
        .begin(request("EntityCreateRequest", "c", new))
        .await;
    let call = payload_of(&next().await);
    // Each of them is answered at once, and nothing is read.
    let cancel = |n: usize| {
        let unknown = json!({"requestId": "x".repeat(2_000)});
        Frame::from(request("EventCancelRequest", &format!("f{n}"), unknown))
    };
    let patience = Duration::from_secs(1);
    let mut sent = 0;
    while sent < FLOOD
        && tokio::time::timeout(patience, outbox.send(cancel(sent)))
            .await
            .is_ok_and(|sent| sent.is_ok())
    {
        sent += 1;
    }
    assert!(sent < FLOOD, "it is not held back");
    let answer =
        json!({"requestId": call["requestId"], "entityId": call["entityId"], "success": true});
    let answer = request("EntityProcessorCalculationResponse", "a", answer);
    let sending = async {
        for n in sent..FLOOD {
            outbox.send(cancel(n)).await.expect("open");
        }
        outbox.send(answer.into()).await.expect("open");
    };
    let reading = async {
        let mut read = 0;
        while read < FLOOD {
            // The others are probes.
            if next().await.kind == EventType::EventAckResponse {
                read += 1;
            }
        }
    };
    tokio::join!(sending, reading);
    let made = payload_of(&answers.recv().await.expect("an answer"));
    assert_eq!(made["success"], true, "{made}");
}

#[tokio::test]
async fn a_server_that_stops_answers_what_is_in_work_and_says_so() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let mut answers = connection
        .begin(request(
            "EntityCreateRequest",
            "last",
            new_entity(&doc, &json!({"n": 1})),
        ))
        .await;
    let call = member.next().await;
    server.signal("-TERM");
    member.reply(&call, Reply::Nothing).await;
    let answer = payload_of(&answers.recv().await.expect("an answer"));
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(
        connection.end().await.expect_err("a status").code(),
        Code::Unavailable
    );
    drop((connection, member));
    assert_eq!(server.wait().await, Some(0));
    server.restart();
    let id = answer["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    assert_eq!(
        crate::support::state(&get(&server.connect().await, id).await),
        "DONE"
    );
}

#[tokio::test]
async fn a_stream_on_which_nothing_was_said_does_not_hold_up_the_end() {
    let mut server = Server::start();
    let connection = server.connect().await;
    server.signal("-TERM");
    assert_eq!(
        connection.end().await.expect_err("a status").code(),
        Code::Unavailable
    );
    drop(connection);
    assert_eq!(server.wait().await, Some(0));
    let log = server.log.lock().expect("no panic");
    let late = log
        .iter()
        .find(|line| line.contains("did not finish in time"));
    assert_eq!(late, None);
}

#[tokio::test]
async fn a_stream_that_is_dropped_cancels_what_it_asked_for() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let gone = Connection::open(server.grpc, &[]).await;
    let answers = gone
        .begin(request(
            "EntityCreateRequest",
            "gone",
            new_entity(&doc, &json!({"n": 1})),
        ))
        .await;
    let call = member.next().await;
    gone.abort();
    drop((answers, gone));
    // Its transaction is over, as soon as the server has seen that the stream is.
    let token = call.token().to_owned();
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        let read = json!({"entityId": call.payload["entityId"]});
        let answer = connection
            .call_with("EntityGetRequest", read, &[("cyodatxtoken", &token)])
            .await;
        if answer["success"] == false {
            assert_eq!(code(&answer), "TRANSACTION_NOT_FOUND");
            break;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "the transaction is still open"
        );
    }
    assert!(
        connection
            .all("EntityGetAllRequest", json!({"model": doc}))
            .await
            .0
            .is_empty()
    );
}
