//! Joining, keep-alives, leaving (`grpc.md` §9.1–§9.4).

use interlock::event::{Event, EventType};
use serde_json::json;
use tonic::Code;

use crate::support::{
    Connection, Member, Reply, Server, between_looks, code, create, governed_model, payload_of,
    processed_by, request, sync_processor,
};

#[tokio::test]
async fn a_member_is_greeted_with_its_id_and_tenant() {
    let server = Server::start();
    let connection = server.connect().await;
    connection
        .send(request(
            "CalculationMemberJoinEvent",
            "j",
            json!({"tags": ["a"], "joinedLegalEntityId": "mock-tenant"}),
        ))
        .await;
    let greeting = connection.unasked().await.expect("a greeting");
    let payload = payload_of(&greeting);
    assert_eq!(greeting.kind, EventType::CalculationMemberGreetEvent);
    assert_eq!(
        (
            &payload["id"],
            &payload["joinedLegalEntityId"],
            &payload["success"]
        ),
        (&payload["memberId"], &json!("mock-tenant"), &json!(true))
    );
    let other = Member::join(&server, &[]).await;
    assert_ne!(payload["memberId"], other.id.as_str());
}

#[tokio::test]
async fn who_is_greeted_is_a_member_already() {
    let server = Server::start();
    let watching = server.connect().await;
    for count in 1..=20 {
        let member = Member::join(&server, &["x"]).await;
        let reported = watching.ok("ComputeMembersGetRequest", json!({})).await;
        let known = reported["members"].as_array().expect("a list");
        assert!(
            known.iter().any(|known| known["memberId"] == *member.id),
            "{count}: {reported}"
        );
    }
}

#[tokio::test]
async fn a_stream_may_join_after_it_has_asked_and_only_once() {
    let server = Server::start();
    let connection = server.connect().await;
    connection.ok("EntityModelGetAllRequest", json!({})).await;
    let member = Member::join_on(connection, &[]).await;
    let connection = &member.connection;
    let mut ack = connection
        .begin(request(
            "CalculationMemberJoinEvent",
            "again",
            json!({"tags": []}),
        ))
        .await;
    let ack = ack.recv().await.expect("an acknowledgement");
    assert_eq!(
        (ack.kind, code(&payload_of(&ack)).as_str()),
        (EventType::EventAckResponse, "ALREADY_JOINED")
    );
    connection.ok("EntityModelGetAllRequest", json!({})).await;
}

#[tokio::test]
async fn a_faulty_join_ends_the_stream_with_its_status() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    for (metadata, payload, expected, reported) in [
        (
            vec![],
            json!({"id": 5}),
            Code::InvalidArgument,
            "invalid payload",
        ),
        (
            vec![],
            json!({"id": "x", "tags": "a"}),
            Code::InvalidArgument,
            "invalid payload",
        ),
        (
            vec![("x-mock-roles", "ROLE_ADMIN")],
            json!({"id": "x"}),
            Code::PermissionDenied,
            "ROLE_M2M required for streaming",
        ),
        (
            vec![],
            json!({"id": "x", "joinedLegalEntityId": "someone-else"}),
            Code::PermissionDenied,
            "tenant mismatch",
        ),
    ] {
        let connection = server.connect_as(&metadata).await;
        connection
            .send(request("CalculationMemberJoinEvent", "j", payload.clone()))
            .await;
        let status = connection.end().await.expect_err("a status");
        assert_eq!(status.code(), expected, "{payload}");
        assert!(status.message().contains(reported), "{status:?}");
    }
    // Without the role everything else on a stream works.
    let connection = server.connect_as(&[("x-mock-roles", "ROLE_ADMIN")]).await;
    connection.ok("EntityModelGetAllRequest", json!({})).await;
}

#[tokio::test]
async fn keep_alives_are_acknowledged_and_members_are_probed() {
    let server = Server::with(&[("CYODA_KEEPALIVE_INTERVAL", "1")]);
    let member = Member::join(&server, &[]).await;
    let connection = &member.connection;
    let probe = connection.unasked().await.expect("a probe");
    assert_eq!(probe.kind, EventType::CalculationMemberKeepAliveEvent);
    let payload = payload_of(&probe);
    assert_eq!(
        (&payload["memberId"], &payload["success"]),
        (&json!(member.id), &json!(true))
    );
    connection
        .send(request(
            "CalculationMemberKeepAliveEvent",
            "k1",
            json!({"memberId": member.id}),
        ))
        .await;
    let ack = loop {
        let event = connection.unasked().await.expect("an event");
        if event.kind == EventType::EventAckResponse {
            break event;
        }
    };
    assert_eq!(
        (
            &payload_of(&ack)["sourceEventId"],
            &payload_of(&ack)["success"]
        ),
        (&json!("k1"), &json!(true))
    );
    let second = connection.unasked().await.expect("a probe");
    assert_ne!(
        payload_of(&second)["id"],
        payload["id"],
        "each probe has an id of its own"
    );
}

#[tokio::test]
async fn a_silent_member_is_let_go_and_one_that_says_anything_is_not() {
    let server = Server::with(&[
        ("CYODA_KEEPALIVE_INTERVAL", "1"),
        ("CYODA_KEEPALIVE_TIMEOUT", "2"),
        ("CYODA_DISPATCH_WAIT_TIMEOUT", "0s"),
    ]);
    let connection = server.connect().await;
    let silent = Member::join(&server, &["silent"]).await;
    let lively = Member::join(&server, &["lively"]).await;
    let answering = std::sync::Arc::clone(&lively.connection);
    tokio::spawn(async move {
        while let Some(event) = answering.unasked_or_end().await {
            if event.kind == EventType::CalculationMemberKeepAliveEvent {
                let ack =
                    json!({"id": "a", "sourceEventId": payload_of(&event)["id"], "success": true});
                answering
                    .send(Event {
                        id: "a".into(),
                        ..Event::ours(EventType::EventAckResponse, ack.to_string())
                    })
                    .await;
            }
        }
    });
    let status = silent.connection.end().await.expect_err("a status");
    assert_eq!(
        (status.code(), status.message()),
        (Code::DeadlineExceeded, "keep-alive timeout")
    );
    let model = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor(
            "p",
            json!({"calculationNodesTags": "silent"})
        )])),
    )
    .await;
    let new = crate::support::new_entity(&model, &json!({"n": 1}));
    assert_eq!(
        connection.fails("EntityCreateRequest", new).await,
        "NO_COMPUTE_MEMBER_FOR_TAG"
    );
    lively
        .connection
        .ok("EntityModelGetAllRequest", json!({}))
        .await;
}

#[tokio::test]
async fn one_frozen_member_holds_up_nobody_else() {
    let server = Server::start();
    let connection = server.connect().await;
    let frozen = Member::join(&server, &["frozen"]).await;
    let working = Member::join(&server, &["working"]).await;
    let model = async |name: &str, tag: &str| {
        let processors = json!([sync_processor(
            "p",
            json!({"calculationNodesTags": tag, "responseTimeoutMs": 20_000})
        )]);
        governed_model(&connection, name, json!({"n": 1}), processed_by(processors)).await
    };
    let (stuck, fine) = (
        model("stuck", "frozen").await,
        model("fine", "working").await,
    );
    let mut waiting = Vec::new();
    for n in 0..100 {
        let event = request(
            "EntityCreateRequest",
            &format!("stuck{n}"),
            crate::support::new_entity(&stuck, &json!({"n": n})),
        );
        waiting.push(connection.begin(event).await);
    }
    working.serve(|_, _| async { Reply::Nothing });
    for n in 0..50 {
        create(&connection, &fine, json!({"n": n})).await;
    }
    assert!(
        waiting
            .iter_mut()
            .all(|answers| answers.try_recv().is_err())
    );
    drop(frozen);
    for mut answers in waiting {
        assert_eq!(
            code(&payload_of(&answers.recv().await.expect("an answer"))),
            "COMPUTE_MEMBER_DISCONNECTED"
        );
    }
}

#[tokio::test]
async fn a_call_says_how_much_time_is_left_for_it() {
    let server = Server::with(&[("INTERLOCK_DISPATCH_RESPONSE_TIMEOUT", "40s")]);
    let connection = server.connect().await;
    let member = Member::join(&server, &["timers"]).await;
    let mut calls = member.record(|call| {
        if call.event.kind == EventType::EntityCriteriaCalculationRequest {
            Reply::Matches(true)
        } else if call.event.kind == EventType::EntityFunctionCalculationRequest {
            Reply::Schedule(json!({"fireAfterMs": 3_600_000}))
        } else {
            Reply::Nothing
        }
    });
    let limit = json!({"responseTimeoutMs": 20_000});
    let may = json!({"type": "function", "function": {"name": "may", "config": limit}});
    let when = json!({"name": "when", "resultKind": "Schedule", "calculationNodesTags": "timers",
        "responseTimeoutMs": 10_000});
    let processors = json!([sync_processor("p", json!({}))]);
    let workflow = json!({"version": "1", "name": "limited", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "go", "next": "DONE", "manual": false, "criterion": may, "processors": processors}]},
        "DONE": {"transitions": [{"name": "lapse", "next": "NEW", "manual": false, "schedule": {"function": when}}]},
    }});
    let model = governed_model(&connection, "limited", json!({"n": 1}), workflow).await;
    create(&connection, &model, json!({"n": 1})).await;
    for (kind, limit) in [
        (EventType::EntityCriteriaCalculationRequest, 20_000),
        (EventType::EntityProcessorCalculationRequest, 40_000),
        (EventType::EntityFunctionCalculationRequest, 10_000),
    ] {
        let call = calls.recv().await.expect("a call");
        let left = call.event.attribute("timeoutms").expect("a time limit");
        let left: u32 = left.parse().expect("a number");
        assert_eq!(call.event.kind, kind);
        // It is what is left when the call is sent; that takes seconds on a busy machine at most.
        assert!((limit / 2..=limit).contains(&left), "{left} of {limit}");
    }
}

#[tokio::test]
async fn answers_to_calls_that_are_not_out_change_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let (member, liar) = (
        Member::join(&server, &["a"]).await,
        Member::join(&server, &["b"]).await,
    );
    let model = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor(
            "p",
            json!({"calculationNodesTags": "a"})
        )])),
    )
    .await;
    let mut answers = connection
        .begin(request(
            "EntityCreateRequest",
            "r",
            crate::support::new_entity(&model, &json!({"n": 1})),
        ))
        .await;
    let call = member.next().await;
    // Of a call that went to someone else, of none at all, on a stream that never joined.
    liar.reply(&call, Reply::Data(json!({"n": 666}))).await;
    for id in ["", "nonsense", "00000000-0000-0000-0000-000000000000"] {
        let lie = json!({"requestId": id, "success": true, "payload": {"data": {"n": 666}}});
        for connection in [
            &liar.connection,
            &member.connection,
            &server.connect().await.into(),
        ] {
            connection
                .send(request(
                    "EntityProcessorCalculationResponse",
                    &connection.fresh_id(),
                    lie.clone(),
                ))
                .await;
        }
    }
    liar.connection
        .ok("EntityModelGetAllRequest", json!({}))
        .await;
    member.reply(&call, Reply::Nothing).await;
    let made = payload_of(&answers.recv().await.expect("an answer"));
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    assert_eq!(
        crate::support::get(&connection, id).await["data"],
        json!({"n": 1})
    );
}

#[tokio::test]
async fn a_member_that_floods_is_served_and_memory_stays_bounded() {
    let server = Server::start();
    let member = Member::join(&server, &[]).await;
    let before = server.resident_bytes();
    let flood = json!({"requestId": "00000000-0000-0000-0000-000000000000", "success": true, "payload": {"data": {"text": "x".repeat(10_000)}}});
    for n in 0..5_000 {
        member
            .connection
            .send(request(
                "EntityProcessorCalculationResponse",
                &format!("f{n}"),
                flood.clone(),
            ))
            .await;
    }
    member
        .connection
        .ok("EntityModelGetAllRequest", json!({}))
        .await;
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_listed_to_their_own_tenant() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let tenant = [("x-mock-tenant", "ours")];
    let connection = server.connect_as(&tenant).await;
    let asked = async |connection: &Connection| {
        let answer = connection.ok("ComputeMembersGetRequest", json!({})).await;
        answer["members"].as_array().expect("a list").clone()
    };
    assert!(asked(&connection).await.is_empty());
    let workflow = processed_by(json!([sync_processor(
        "p",
        json!({"calculationNodesTags": "Fast"})
    )]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let member = Member::join_on(server.connect_as(&tenant).await, &["Fast", "b"]).await;
    let second = Member::join_on(server.connect_as(&tenant).await, &[]).await;
    let replies = std::sync::Mutex::new(vec![Reply::Failure("no"), Reply::Nothing]);
    let serving = member.serve(move |_, _| {
        let reply = replies.lock().expect("no panic").pop();
        async { reply.expect("a reply") }
    });
    create(&connection, &model, json!({"n": 1})).await;
    let refused = connection
        .fails(
            "EntityCreateRequest",
            crate::support::new_entity(&model, &json!({"n": 1})),
        )
        .await;
    assert_eq!(refused, "WORKFLOW_FAILED");
    let members = asked(&connection).await;
    assert_eq!(members.len(), 2);
    let reported = &members[0];
    assert_eq!(
        (&reported["memberId"], &reported["tags"], &reported["node"]),
        (
            &json!(member.id),
            &json!(["b", "fast"]),
            &json!("standalone")
        )
    );
    let counts = ["inFlight", "served", "failed"].map(|name| reported[name].clone());
    assert_eq!(counts, [json!(0), json!(1), json!(1)]);
    assert!(
        reported["lastSeen"].as_str() > reported["joinedAt"].as_str(),
        "{reported}"
    );
    assert_eq!(members[1]["memberId"], second.id);
    let rest = server.rest().with("x-mock-tenant", "ours");
    let spelled = rest.get("/api/compute/members").await.ok();
    assert_eq!(spelled["members"][0]["memberId"], member.id);
    let listing = crate::support::command(&server.folder(), &[])
        .args(["members", "--address", &server.grpc.to_string()])
        .args(["--metadata", "x-mock-tenant=ours"])
        .output()
        .expect("runs");
    let listing = String::from_utf8(listing.stdout).expect("text");
    assert!(
        listing.contains(&member.id) && listing.contains("b,fast"),
        "{listing}"
    );
    let stranger = server.connect_as(&[("x-mock-tenant", "theirs")]).await;
    assert!(asked(&stranger).await.is_empty());
    serving.abort();
    second.connection.abort();
    while asked(&connection).await.len() > 1 {
        between_looks().await;
    }
}
