//! Processors: what they are sent, what they may answer, what happens when they do not.

use std::time::Duration;

use interlock::event::{Event, EventType};
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, code, create, get, governed_model, new_entity, payload_of,
    processed_by, request, state, sync_processor,
};

async fn processed_model(connection: &Connection, processors: Value) -> Value {
    governed_model(
        connection,
        "doc",
        json!({"n": 1, "by": "x"}),
        processed_by(processors),
    )
    .await
}

#[tokio::test]
async fn a_processor_is_sent_the_entity_and_may_replace_its_document() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &["a"]).await;
    let processors = json!([
        sync_processor(
            "first",
            json!({"calculationNodesTags": "A", "context": "mode=\"a\""})
        ),
        sync_processor("second", json!({"attachEntity": false})),
        sync_processor("third", json!({})),
    ]);
    let model = processed_model(&connection, processors).await;
    let mut calls = member.record(|call| match call.processor() {
        "first" => Reply::Data(json!({"n": 2.50, "by": "first", "extra": {"kept": true}})),
        _ => Reply::Nothing,
    });
    let made = connection
        .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    let (first, second, third) = (
        calls.recv().await.expect("a call"),
        calls.recv().await.expect("a call"),
        calls.recv().await.expect("a call"),
    );
    assert_eq!(first.payload["id"], first.payload["requestId"]);
    assert_eq!(first.payload["entityId"], *id);
    assert_eq!(
        (
            &first.payload["processorId"],
            &first.payload["processorName"]
        ),
        (&json!("first"), &json!("first"))
    );
    assert_eq!(
        first.payload["workflow"],
        json!({"id": "processed", "name": "processed"})
    );
    assert_eq!(
        first.payload["transition"],
        json!({"id": "PROCESS", "name": "PROCESS", "stateFrom": "NEW", "stateTo": "DONE"})
    );
    assert_eq!(
        (&first.payload["parameters"], &first.payload["success"]),
        (&json!("mode=\"a\""), &json!(true))
    );
    assert_eq!(
        first.payload["transactionId"],
        made["transactionInfo"]["transactionId"]
    );
    assert_eq!(first.payload["payload"]["type"], "JSON");
    assert_eq!(first.data(), &json!({"n": 1}));
    let meta = &first.payload["payload"]["meta"];
    assert_eq!(
        (&meta["state"], &meta["modelKey"], &meta["id"]),
        (&json!("NEW"), &model, &json!(id))
    );
    assert_eq!(meta.as_object().expect("members").len(), 6);
    assert_eq!(first.event.attribute("authtype"), Some("user"));
    assert_eq!(first.event.attribute("authid"), Some("mock-user-001"));
    assert_eq!(
        first.event.attribute("authclaims"),
        Some("ROLE_ADMIN,ROLE_M2M")
    );
    assert!(first.event.attribute("dispatchkey").is_some());
    // Absent objects are left out.
    assert!(second.payload.get("payload").is_none() && second.payload.get("parameters").is_none());
    assert_eq!(
        third.data(),
        &json!({"n": 2.50, "by": "first", "extra": {"kept": true}}),
        "the data as the one before left it"
    );
    let entity = get(&connection, id).await;
    assert_eq!(state(&entity), "DONE");
    assert_eq!(
        entity["data"],
        json!({"n": 2.50, "by": "first", "extra": {"kept": true}}),
        "not checked against the model again"
    );
    assert_eq!(entity["meta"]["creationDate"], meta["creationDate"]);
}

#[tokio::test]
async fn a_failing_processor_fails_the_request_and_nothing_is_kept() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let model = processed_model(&connection, json!([sync_processor("p", json!({}))])).await;
    for (reply, reported) in [
        (
            json!({"success": false, "error": {"code": "X", "message": "no stock"}}),
            "no stock",
        ),
        (json!({"success": false}), "processor returned failure"),
        (
            json!({"success": true, "payload": {"type": "JSON", "data": [1]}}),
            "the returned data is not an object",
        ),
        (
            json!({"success": true, "payload": {"data": 5}}),
            "the returned data is not an object",
        ),
    ] {
        let (answer, ()) = tokio::join!(
            connection.call("EntityCreateRequest", new_entity(&model, &json!({"n": 1}))),
            async {
                let call = member.next().await;
                member.reply(&call, Reply::Raw(reply.clone())).await;
            }
        );
        let expected =
            format!("WORKFLOW_FAILED: processor p failed: processor dispatch failed: {reported}");
        assert_eq!(answer["error"]["message"], expected, "{reply}");
    }
    assert!(
        connection
            .all("EntityGetAllRequest", json!({"model": model}))
            .await
            .0
            .is_empty()
    );
}

#[tokio::test]
async fn answers_are_taken_as_they_are_meant() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let model = processed_model(&connection, json!([sync_processor("p", json!({}))])).await;
    for (reply, data) in [
        (json!({}), json!({"n": 1})),
        (json!({"success": true, "payload": null}), json!({"n": 1})),
        (
            json!({"payload": {"type": "JSON", "data": null}}),
            json!({"n": 1}),
        ),
        (
            json!({"payload": {"data": {"n": 3}}, "unheardOf": [1]}),
            json!({"n": 3}),
        ),
    ] {
        let (answer, ()) = tokio::join!(
            connection.call("EntityCreateRequest", new_entity(&model, &json!({"n": 1}))),
            async {
                let call = member.next().await;
                member.reply(&call, Reply::Raw(reply.clone())).await;
            }
        );
        let id = answer["transactionInfo"]["entityIds"][0]
            .as_str()
            .unwrap_or_else(|| panic!("{reply}: {answer}"));
        assert_eq!(get(&connection, id).await["data"], data, "{reply}");
    }
    let (answer, ()) = tokio::join!(
        connection.call("EntityCreateRequest", new_entity(&model, &json!({"n": 1}))),
        async {
            let call = member.next().await;
            member
                .reply(
                    &call,
                    Reply::Raw(json!({"success": true, "warnings": ["careful"]})),
                )
                .await;
        }
    );
    assert_eq!(answer["warnings"], json!(["processor p: careful"]));
}

#[tokio::test]
async fn a_member_that_does_not_answer_in_time_fails_the_call_and_comes_too_late() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let model = processed_model(
        &connection,
        json!([sync_processor("p", json!({"responseTimeoutMs": 300}))]),
    )
    .await;
    let answer = connection
        .call("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    assert_eq!(
        answer["error"]["message"],
        "WORKFLOW_FAILED: DISPATCH_TIMEOUT: processor dispatch timed out after 300ms"
    );
    assert_eq!(answer["error"]["properties"]["cause"], "DISPATCH_TIMEOUT");
    let late = member.next().await;
    member.reply(&late, Reply::Data(json!({"n": 9}))).await;
    member.reply(&late, Reply::Data(json!({"n": 9}))).await;
    // The stream goes on.
    let (made, ()) = tokio::join!(
        connection.ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1}))),
        async {
            let call = member.next().await;
            member.reply(&late, Reply::Data(json!({"n": 9}))).await;
            member.reply(&call, Reply::Nothing).await;
        }
    );
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    assert_eq!(get(&connection, id).await["data"], json!({"n": 1}));
}

#[tokio::test]
async fn without_a_fitting_member_the_call_waits_and_then_fails() {
    let server = Server::with(&[("CYODA_DISPATCH_WAIT_TIMEOUT", "400ms")]);
    let connection = server.connect().await;
    let _partly = Member::join(&server, &["a"]).await;
    let model = processed_model(
        &connection,
        json!([sync_processor("p", json!({"calculationNodesTags": "a;b"}))]),
    )
    .await;
    let answer = connection
        .call("EntityCreateRequest", new_entity(&model, &json!({"n": 1})))
        .await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .expect("text")
            .starts_with("NO_COMPUTE_MEMBER_FOR_TAG: "),
        "{answer}"
    );
    assert_eq!(
        (&answer["error"]["retryable"], &answer["error"]["code"]),
        (&json!(true), &json!("CLIENT_ERROR"))
    );
}

#[tokio::test]
async fn a_member_that_joins_while_it_is_waited_for_is_called() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = processed_model(
        &connection,
        json!([sync_processor("p", json!({"calculationNodesTags": "late"}))]),
    )
    .await;
    let (answer, ()) = tokio::join!(
        connection.call("EntityCreateRequest", new_entity(&model, &json!({"n": 1}))),
        async {
            let member = Member::join(&server, &["Late"]).await;
            let call = member.next().await;
            member.reply(&call, Reply::Nothing).await;
        }
    );
    assert_eq!(answer["success"], true, "{answer}");
}

#[tokio::test]
async fn a_member_that_is_stopping_is_called_once_and_its_successor_is_waited_for() {
    let server = Server::start();
    let connection = server.connect().await;
    let stopping = Member::join(&server, &[]).await;
    let mut calls = stopping.record(|_| {
        let error = json!({"code": "MEMBER_STOPPING", "message": "the member is stopping"});
        Reply::Raw(json!({"success": false, "error": error}))
    });
    let model = processed_model(&connection, json!([sync_processor("p", json!({}))])).await;
    let new = new_entity(&model, &json!({"n": 1}));
    let (answer, ()) = tokio::join!(connection.call("EntityCreateRequest", new), async {
        calls.recv().await.expect("a call");
        let successor = Member::join(&server, &[]).await;
        let call = successor.next().await;
        successor.reply(&call, Reply::Nothing).await;
    });
    assert_eq!(answer["success"], true, "{answer}");
    assert!(calls.try_recv().is_err(), "it was called again");
}

#[tokio::test]
async fn an_answer_that_is_not_json_or_of_the_wrong_type_fails_its_call_at_once() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let model = processed_model(&connection, json!([sync_processor("p", json!({}))])).await;
    for (kind, rest, reason) in [
        (
            EventType::EntityProcessorCalculationResponse,
            ",\"payload\":{\"data\":{\"n\":NaN}}}",
            "could not be read",
        ),
        (
            EventType::TaskCalculationResponse,
            "}",
            "was answered with a TaskCalculationResponse",
        ),
    ] {
        let new = new_entity(&model, &json!({"n": 1}));
        let (answer, ()) = tokio::join!(connection.call("EntityCreateRequest", new), async {
            let call = member.next().await;
            let id = call.payload["requestId"].as_str().expect("an id");
            let text = format!("{{\"requestId\":\"{id}\"{rest}");
            member.connection.send(Event::ours(kind, text)).await;
        });
        assert!(answer.to_string().contains(reason), "{answer}");
    }
}

#[tokio::test]
async fn only_members_with_every_required_tag_and_of_the_tenant_are_called() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect_as(&[("x-mock-tenant", "ours")]).await;
    let partly = Member::join_on(
        server.connect_as(&[("x-mock-tenant", "ours")]).await,
        &["a"],
    )
    .await;
    let fully = Member::join_on(
        server.connect_as(&[("x-mock-tenant", "ours")]).await,
        &["b", "A", "c"],
    )
    .await;
    let theirs = Member::join_on(
        server.connect_as(&[("x-mock-tenant", "theirs")]).await,
        &["a", "b"],
    )
    .await;
    let model = processed_model(
        &ours,
        json!([sync_processor("p", json!({"calculationNodesTags": "a, b"}))]),
    )
    .await;
    let mut seen = [
        fully.record(|_| Reply::Nothing),
        partly.record(|_| Reply::Nothing),
        theirs.record(|_| Reply::Nothing),
    ];
    for _ in 0..10 {
        create(&ours, &model, json!({"n": 1})).await;
    }
    let counts = seen
        .each_mut()
        .map(|calls| std::iter::from_fn(|| calls.try_recv().ok()).count());
    assert_eq!(counts, [10, 0, 0]);
}

#[tokio::test]
async fn calls_go_to_the_member_with_the_fewest_out() {
    let server = Server::start();
    let connection = server.connect().await;
    let (one, other) = (
        Member::join(&server, &[]).await,
        Member::join(&server, &[]).await,
    );
    let model = processed_model(&connection, json!([sync_processor("p", json!({}))])).await;
    let begin = || async {
        connection
            .begin(request(
                "EntityCreateRequest",
                &connection.fresh_id(),
                new_entity(&model, &json!({"n": 1})),
            ))
            .await
    };
    let mut answers = Vec::new();
    for _ in 0..6 {
        answers.push(begin().await);
    }
    let (mut to_one, mut to_other) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        to_one.push(one.next().await);
        to_other.push(other.next().await);
    }
    for call in &to_one {
        one.reply(call, Reply::Nothing).await;
    }
    for call in &to_other {
        other.reply(call, Reply::Nothing).await;
    }
    for mut answers in answers {
        assert_eq!(
            payload_of(&answers.recv().await.expect("an answer"))["success"],
            true
        );
    }
}

#[tokio::test]
async fn a_member_that_leaves_during_a_call_fails_it_at_once() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = processed_model(&connection, json!([sync_processor("p", json!({}))])).await;
    let member = Member::join(&server, &[]).await;
    let (answer, ()) = tokio::join!(
        connection.call("EntityCreateRequest", new_entity(&model, &json!({"n": 1}))),
        async {
            member.next().await;
            drop(member);
        }
    );
    assert_eq!(
        answer["error"]["message"],
        "COMPUTE_MEMBER_DISCONNECTED: compute member disconnected during processor dispatch"
    );
    assert_eq!(answer["error"]["retryable"], true);
}

#[tokio::test]
async fn a_retry_policy_tries_again_with_the_same_key_and_another_member() {
    let server = Server::start();
    let connection = server.connect().await;
    let (one, other) = (
        Member::join(&server, &[]).await,
        Member::join(&server, &[]).await,
    );
    let model = processed_model(
        &connection,
        json!([sync_processor("p", json!({"retryPolicy": "FIXED"}))]),
    )
    .await;
    let (answer, keys) = tokio::join!(
        connection.call("EntityCreateRequest", new_entity(&model, &json!({"n": 1}))),
        async {
            let fail = json!({"success": false, "error": {"message": "busy", "retryable": true}});
            let (first, second);
            tokio::select! {
                call = one.next() => {
                    one.reply(&call, Reply::Raw(fail)).await;
                    first = call;
                    second = other.next().await;
                    other.reply(&second, Reply::Nothing).await;
                }
                call = other.next() => {
                    other.reply(&call, Reply::Raw(fail)).await;
                    first = call;
                    second = one.next().await;
                    one.reply(&second, Reply::Nothing).await;
                }
            }
            assert_ne!(first.payload["requestId"], second.payload["requestId"]);
            [first, second].map(|call| {
                call.event
                    .attribute("dispatchkey")
                    .expect("a key")
                    .to_owned()
            })
        }
    );
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn while_a_processor_holds_one_entity_others_are_made() {
    let server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let held = processed_model(&connection, json!([sync_processor("slow", json!({}))])).await;
    let free = crate::support::locked_model(&connection, "free", json!({"n": 1})).await;
    let begun = std::time::Instant::now();
    let mut slow = connection
        .begin(request(
            "EntityCreateRequest",
            "slow",
            new_entity(&held, &json!({"n": 1})),
        ))
        .await;
    let call = member.next().await;
    let creates = (0..1_000)
        .map(|n| connection.ok("EntityCreateRequest", new_entity(&free, &json!({"n": n}))));
    futures_util::future::join_all(creates).await;
    assert!(slow.try_recv().is_err(), "the processor has not answered");
    tokio::time::sleep_until((begun + Duration::from_secs(2)).into()).await;
    member.reply(&call, Reply::Nothing).await;
    assert_eq!(
        payload_of(&slow.recv().await.expect("an answer"))["success"],
        true
    );
    let (counts, _) = connection
        .all("EntityStatsGetRequest", json!({"model": free}))
        .await;
    assert_eq!(counts[0]["count"], 1_000);
}

#[tokio::test]
async fn a_request_that_is_cancelled_during_a_call_leaves_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let model = processed_model(&connection, json!([sync_processor("p", json!({}))])).await;
    let mut answers = connection
        .begin(request(
            "EntityCreateRequest",
            "doomed",
            new_entity(&model, &json!({"n": 1})),
        ))
        .await;
    let call = member.next().await;
    connection
        .send(request(
            "EventCancelRequest",
            "cancel",
            json!({"requestId": "doomed"}),
        ))
        .await;
    assert_eq!(
        code(&payload_of(&answers.recv().await.expect("an answer"))),
        "CANCELLED"
    );
    member.reply(&call, Reply::Nothing).await;
    assert!(
        connection
            .all("EntityGetAllRequest", json!({"model": model}))
            .await
            .0
            .is_empty()
    );
}
