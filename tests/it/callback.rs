//! Members that read and write inside the transaction they are called in (`grpc.md` §10).

use std::sync::Arc;

use interlock::event::{AttributeValue, frame::Frame};
use serde_json::{Value, json};
use tonic::Code;

use crate::support::{
    Connection, Member, Reply, Server, between_looks, client, code, create, get, governed_model,
    locked_model, new_entity, payload_of, processed_by, request, state, sync_processor,
};

struct Stage {
    server: Server,
    connection: Connection,
    member: Member,
    doc: Value,
    other: Value,
}

/// A model whose entities are processed, and one whose entities are not.
async fn stage() -> Stage {
    stage_on(Server::start()).await
}

async fn stage_on(server: Server) -> Stage {
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1, "seen": "x"}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let other = locked_model(&connection, "other", json!({"n": 1})).await;
    Stage {
        server,
        connection,
        member,
        doc,
        other,
    }
}

async fn joined(connection: &Connection, token: &str, kind: &str, payload: Value) -> Value {
    connection
        .call_with(kind, payload, &[("cyodatxtoken", token)])
        .await
}

#[tokio::test]
async fn what_a_member_writes_with_the_token_is_committed_with_the_entity() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
        ..
    } = stage().await;
    let (model, everything) = (
        other.clone(),
        json!({"type": "group", "operator": "AND", "conditions": []}),
    );
    member.serve(move |call, connection| {
        let (model, everything) = (model.clone(), everything.clone());
        async move {
            let token = call.token().to_owned();
            // On the stream of the member itself.
            let made = joined(
                &connection,
                &token,
                "EntityCreateRequest",
                new_entity(&model, &json!({"n": 7})),
            )
            .await;
            assert_eq!(
                made["transactionInfo"]["transactionId"], call.payload["transactionId"],
                "the owner's transaction"
            );
            let id = made["transactionInfo"]["entityIds"][0].clone();
            // It sees what it wrote; nobody else does.
            let seen = joined(
                &connection,
                &token,
                "EntityGetRequest",
                json!({"entityId": id}),
            )
            .await;
            assert_eq!(seen["payload"]["data"], json!({"n": 7}));
            assert_eq!(
                connection
                    .fails("EntityGetRequest", json!({"entityId": id}))
                    .await,
                "ENTITY_NOT_FOUND"
            );
            let search = json!({"id": "x", "model": model, "condition": everything});
            let event = request("EntitySearchRequest", &connection.fresh_id(), search).with(
                "cyodatxtoken",
                AttributeValue::String(token.as_str().into()),
            );
            assert_eq!(connection.ask(event).await.len(), 2, "one hit and the end");
            let anchor = joined(
                &connection,
                &token,
                "EntityGetRequest",
                json!({"entityId": call.payload["entityId"]}),
            )
            .await;
            assert_eq!(
                (state(&anchor["payload"]), &anchor["payload"]["data"]["n"]),
                ("NEW", &json!(1)),
                "the entity that is being made"
            );
            let all = json!({"id": "x", "model": model});
            let event = request("EntityGetAllRequest", &connection.fresh_id(), all).with(
                "cyodatxtoken",
                AttributeValue::String(token.as_str().into()),
            );
            assert_eq!(connection.ask(event).await.len(), 2);
            Reply::Data(json!({"n": 1, "seen": id}))
        }
    });
    let id = create(&connection, &doc, json!({"n": 1})).await;
    let entity = get(&connection, &id).await;
    let second = get(&connection, entity["data"]["seen"].as_str().expect("an id")).await;
    assert_eq!(
        (&second["data"], &second["meta"]["transactionId"]),
        (&json!({"n": 7}), &entity["meta"]["transactionId"])
    );
}

#[tokio::test]
async fn what_a_member_wrote_is_gone_when_its_processor_fails() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
        ..
    } = stage().await;
    let model = other.clone();
    member.serve(move |call, connection| {
        let model = model.clone();
        async move {
            let made = joined(
                &connection,
                call.token(),
                "EntityCreateRequest",
                new_entity(&model, &json!({"n": 7})),
            )
            .await;
            assert_eq!(made["success"], true, "{made}");
            Reply::Failure("no")
        }
    });
    assert_eq!(
        connection
            .fails("EntityCreateRequest", new_entity(&doc, &json!({"n": 1})))
            .await,
        "WORKFLOW_FAILED"
    );
    for model in [&doc, &other] {
        assert!(
            connection
                .all("EntityGetAllRequest", json!({"model": model}))
                .await
                .0
                .is_empty()
        );
    }
}

#[tokio::test]
async fn a_callback_that_fails_undoes_itself_and_nothing_else() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
        ..
    } = stage().await;
    let model = other.clone();
    member.serve(move |call, connection| {
        let model = model.clone();
        async move {
            let token = call.token();
            joined(
                &connection,
                token,
                "EntityCreateRequest",
                new_entity(&model, &json!({"n": 1})),
            )
            .await;
            let payloads =
                json!([{"model": model, "data": {"n": 2}}, {"model": model, "data": {"n": "x"}}]);
            let failed = joined(
                &connection,
                token,
                "EntityCreateCollectionRequest",
                json!({"dataFormat": "JSON", "payloads": payloads}),
            )
            .await;
            assert_eq!(code(&failed), "INCOMPATIBLE_TYPE");
            joined(
                &connection,
                token,
                "EntityCreateRequest",
                new_entity(&model, &json!({"n": 3})),
            )
            .await;
            Reply::Nothing
        }
    });
    create(&connection, &doc, json!({"n": 1})).await;
    let (entities, _) = connection
        .all("EntityGetAllRequest", json!({"model": other}))
        .await;
    let numbers: Vec<_> = entities
        .iter()
        .map(|entity| entity["payload"]["data"]["n"].clone())
        .collect();
    assert_eq!(numbers, [1, 3]);
}

#[tokio::test]
async fn a_stale_update_of_what_the_transaction_makes_is_reported_however_often_it_is_tried() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
        ..
    } = stage().await;
    let model = other.clone();
    member.serve(move |call, connection| {
        let model = model.clone();
        async move {
            let (token, new) = (call.token(), new_entity(&model, &json!({"n": 1})));
            let made = joined(&connection, token, "EntityCreateRequest", new).await;
            let id = made["transactionInfo"]["entityIds"][0].clone();
            let stale = "00000000-0000-0000-0000-000000000000";
            let change = json!({"entityId": id, "data": {"n": 2}, "ifMatch": stale});
            let changes = json!({"dataFormat": "JSON", "payloads": [change]});
            for _ in 0..10 {
                let kind = "EntityUpdateCollectionRequest";
                let answer = joined(&connection, token, kind, changes.clone()).await;
                assert_eq!(answer["success"], true, "{answer}");
                let error = &answer["chunks"][0]["failed"][0]["error"];
                assert_eq!(error["code"], "ENTITY_MODIFIED", "{answer}");
            }
            Reply::Nothing
        }
    });
    create(&connection, &doc, json!({"n": 1})).await;
    let (entities, _) = connection
        .all("EntityGetAllRequest", json!({"model": other}))
        .await;
    assert_eq!(entities.len(), 1);
    assert_eq!(entities[0]["payload"]["data"]["n"], 1);
}

#[tokio::test]
async fn of_the_anchor_the_returned_document_wins_else_the_written_one() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        ..
    } = stage().await;
    member.serve(|call, connection| async move {
        if call.payload["transition"]["name"] == "PROCESS" {
            return Reply::Nothing;
        }
        let id = call.payload["entityId"].clone();
        let asked = call.data()["n"].clone();
        // A save without a transition runs no processor of its own.
        let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 50}}});
        let written = joined(&connection, call.token(), "EntityUpdateRequest", update).await;
        assert_eq!(written["success"], true, "{written}");
        if asked == 2 {
            Reply::Data(json!({"n": 99}))
        } else {
            Reply::Nothing
        }
    });
    let id = create(&connection, &doc, json!({"n": 1})).await;
    for (n, expected) in [(1, 50), (2, 99)] {
        let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": n}, "transition": "AGAIN"}});
        connection.ok("EntityUpdateRequest", update).await;
        assert_eq!(get(&connection, &id).await["data"], json!({"n": expected}));
    }
    let (changes, _) = connection
        .all("EntityChangesMetadataGetRequest", json!({"entityId": id}))
        .await;
    assert_eq!(changes.len(), 3, "one version per transaction");
}

#[tokio::test]
async fn a_callback_may_run_processors_itself() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        ..
    } = stage().await;
    let model = doc.clone();
    member.serve(move |call, connection| {
        let model = model.clone();
        async move {
            let depth = call.data()["n"].as_i64().expect("a number");
            if depth > 0 {
                let inner = joined(
                    &connection,
                    call.token(),
                    "EntityCreateRequest",
                    new_entity(&model, &json!({"n": depth - 1})),
                )
                .await;
                assert_eq!(inner["success"], true, "{inner}");
                assert_eq!(
                    inner["transactionInfo"]["transactionId"],
                    call.payload["transactionId"]
                );
            }
            Reply::Nothing
        }
    });
    let id = create(&connection, &doc, json!({"n": 4})).await;
    let (entities, _) = connection
        .all("EntityGetAllRequest", json!({"model": doc}))
        .await;
    assert_eq!(entities.len(), 5);
    let transaction = get(&connection, &id).await["meta"]["transactionId"].clone();
    assert!(
        entities.iter().all(
            |entity| entity["payload"]["meta"]["transactionId"] == transaction
                && state(&entity["payload"]) == "DONE"
        )
    );
}

#[tokio::test]
async fn parallel_callbacks_of_one_call_are_served_one_after_the_other() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
        ..
    } = stage().await;
    let model = other.clone();
    member.serve(move |call, connection| {
        let model = model.clone();
        async move {
            let creates = (0..50).map(|n| {
                joined(
                    &connection,
                    call.token(),
                    "EntityCreateRequest",
                    new_entity(&model, &json!({"n": n})),
                )
            });
            for made in futures_util::future::join_all(creates).await {
                assert_eq!(made["success"], true, "{made}");
            }
            Reply::Nothing
        }
    });
    create(&connection, &doc, json!({"n": 1})).await;
    let (counts, _) = connection
        .all("EntityStatsGetRequest", json!({"model": other}))
        .await;
    assert_eq!(counts[0]["count"], 50);
}

#[tokio::test]
async fn a_token_is_worthless_when_its_transaction_is_over_or_another_tenants_or_forged() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let Stage {
        server,
        connection,
        member,
        doc,
        other,
    } = stage_on(server).await;
    let thief = Arc::new(server.connect_as(&[("x-mock-tenant", "thieves")]).await);
    let (kept, mut tokens) = tokio::sync::mpsc::unbounded_channel();
    let model = other.clone();
    member.serve(move |call, _| {
        let (thief, kept, model) = (Arc::clone(&thief), kept.clone(), model.clone());
        async move {
            let stolen = joined(
                &thief,
                call.token(),
                "EntityCreateRequest",
                new_entity(&model, &json!({"n": 1})),
            )
            .await;
            assert_eq!(code(&stolen), "FORBIDDEN");
            kept.send(call.token().to_owned()).expect("the test waits");
            Reply::Nothing
        }
    });
    create(&connection, &doc, json!({"n": 1})).await;
    let token = tokens.recv().await.expect("a token");
    let new = new_entity(&other, &json!({"n": 1}));
    let over = joined(&connection, &token, "EntityCreateRequest", new.clone()).await;
    assert_eq!(code(&over), "TRANSACTION_NOT_FOUND");
    let mut forged = token.clone();
    forged.replace_range(4..5, if &token[4..5] == "A" { "B" } else { "A" });
    for bad in ["nonsense", forged.as_str()] {
        assert_eq!(
            code(&joined(&connection, bad, "EntityCreateRequest", new.clone()).await),
            "UNAUTHORIZED"
        );
    }
    let metadata = [("tx-token", token.as_str())];
    let event = request(
        "EntityDeleteRequest",
        "1",
        json!({"entityId": "00000000-0000-0000-0000-000000000001"}),
    );
    let answered = connection
        .unary("entityManage", event, &metadata)
        .await
        .expect("in-band");
    assert_eq!(answered.kind.as_str(), "EntityTransactionResponse");
    let event = request(
        "EntityTransitionsGetRequest",
        "1",
        json!({"entityId": "00000000-0000-0000-0000-000000000001"}),
    );
    let answered = connection
        .unary("entitySearch", event, &metadata)
        .await
        .expect("in-band");
    assert_eq!(answered.kind.as_str(), "EntityResponse");
    // Models are no part of transactions, so there the token is not looked at.
    let event = request("EntityModelGetAllRequest", "1", json!({}));
    assert!(
        connection
            .unary("entityModelManage", event, &metadata)
            .await
            .expect("answered")
            .text()
            .expect("text")
            .contains("\"success\":true")
    );
    let rest = server.rest().with("x-tx-token", &token);
    let said = rest.post("/api/entity/JSON/other/1", "{\"n\":1}").await;
    assert_eq!(
        (said.status.as_u16(), said.problem().as_str()),
        (404, "TRANSACTION_NOT_FOUND")
    );
    let said = server
        .rest()
        .with("x-tx-token", "nonsense")
        .get("/api/entity/00000000-0000-0000-0000-000000000001")
        .await;
    assert_eq!(
        (said.status.as_u16(), said.problem().as_str()),
        (401, "UNAUTHORIZED")
    );
}

#[tokio::test]
async fn a_token_expires() {
    let server = Server::with(&[
        ("CYODA_TX_TOKEN_TTL", "0s"),
        ("CYODA_DISPATCH_WAIT_TIMEOUT", "0s"),
        ("INTERLOCK_DISPATCH_RESPONSE_TIMEOUT", "10s"),
    ]);
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
        ..
    } = stage_on(server).await;
    let model = governed_model(
        &connection,
        "brief",
        json!({"n": 1}),
        processed_by(json!([sync_processor(
            "p",
            json!({"responseTimeoutMs": 1_000})
        )])),
    )
    .await;
    drop(doc);
    let mut answers = connection
        .begin(request(
            "EntityCreateRequest",
            "brief",
            new_entity(&model, &json!({"n": 1})),
        ))
        .await;
    let call = member.next().await;
    answers.recv().await.expect("the call times out");
    // Now and then until the clock has passed the second in which the token ends.
    let new = new_entity(&other, &json!({"n": 1}));
    loop {
        match code(
            &joined(
                &connection,
                call.token(),
                "EntityCreateRequest",
                new.clone(),
            )
            .await,
        )
        .as_str()
        {
            "TRANSACTION_EXPIRED" => break,
            code => assert_eq!(code, "TRANSACTION_NOT_FOUND"),
        }
    }
}

#[tokio::test]
async fn a_callback_may_come_over_rest_and_over_the_unary_methods() {
    let Stage {
        server,
        connection,
        member,
        doc,
        other,
    } = stage().await;
    let rest = server.rest();
    let model = other.clone();
    member.serve(move |call, connection| {
        let rest = rest.with("X-Tx-Token", call.token());
        let model = model.clone();
        async move {
            let made = rest.post("/api/entity/JSON/other/1", "{\"n\":1}").await.ok();
            assert_eq!(made[0]["transactionId"], call.payload["transactionId"]);
            let id = made[0]["entityIds"][0].as_str().expect("an id").to_owned();
            assert_eq!(rest.get(&format!("/api/entity/{id}")).await.ok()["data"], json!({"n": 1}));
            let token = call.token().to_owned();
            let event = request("EntityCreateRequest", "1", new_entity(&model, &json!({"n": 2})));
            connection.unary("entityManage", event, &[("tx-token", &token)]).await.expect("answered");
            let event = request("EntityGetAllRequest", "1", json!({"model": model}));
            let listed = connection.streaming("entitySearchCollection", event, &[("tx-token", &token)]).await.expect("answered");
            assert_eq!(listed.len(), 2);
            let found = rest.post("/api/search/direct/other/1", "{\"type\":\"simple\",\"jsonPath\":\"$.n\",\"operatorType\":\"EQUALS\",\"value\":2}").await;
            assert_eq!(found.text.lines().count(), 1);
            Reply::Nothing
        }
    });
    create(&connection, &doc, json!({"n": 1})).await;
    let (counts, _) = connection
        .all("EntityStatsGetRequest", json!({"model": other}))
        .await;
    assert_eq!(counts[0]["count"], 2);
}

#[tokio::test]
async fn what_a_member_sends_before_its_answer_is_part_of_the_transaction() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
    } = stage().await;
    let model = other.clone();
    member.serve(move |call, connection| {
        let model = model.clone();
        async move {
            // They are read before the answer, and nobody waits for what is answered to them.
            for n in 0..10 {
                let write = new_entity(&model, &json!({"n": n}));
                let write = request("EntityCreateRequest", &connection.fresh_id(), write);
                let token = AttributeValue::String(call.token().into());
                connection.send(write.with("cyodatxtoken", token)).await;
            }
            Reply::Nothing
        }
    });
    for _ in 0..10 {
        create(&connection, &doc, json!({"n": 1})).await;
    }
    let (counts, _) = connection
        .all("EntityStatsGetRequest", json!({"model": other}))
        .await;
    assert_eq!(counts[0]["count"], 100);
}

#[tokio::test]
async fn a_server_that_stops_serves_callbacks_on_new_connections_until_the_call_is_answered() {
    let Stage {
        mut server,
        connection,
        member,
        doc,
        other,
    } = stage().await;
    let made = request(
        "EntityCreateRequest",
        "last",
        new_entity(&doc, &json!({"n": 1})),
    );
    let mut answers = connection.begin(made).await;
    let call = member.next().await;
    server.signal("-TERM");
    // A request that joins nothing is answered, too.
    let read = json!({"entityId": "00000000-0000-0000-0000-000000000001"});
    while connection.fails("EntityGetRequest", read.clone()).await != "STORAGE_UNAVAILABLE" {
        between_looks().await;
    }
    let write = || {
        request(
            "EntityCreateRequest",
            "1",
            new_entity(&other, &json!({"n": 2})),
        )
    };
    let rest = server.rest();
    rest.post("/api/entity/JSON/other/1", "{\"n\":1}")
        .await
        .refused_for_now(503, "STORAGE_UNAVAILABLE");
    let joined = rest.with("X-Tx-Token", call.token());
    joined
        .post("/api/entity/JSON/other/1", "{\"n\":1}")
        .await
        .ok();
    let fresh = client(server.grpc).await;
    let alone = fresh.clone().entity_manage(Frame::from(write())).await;
    assert_eq!(alone.expect_err("it stops").code(), Code::Unavailable);
    let mut joined = tonic::Request::new(Frame::from(write()));
    let token = call.token().parse().expect("a text");
    joined.metadata_mut().insert("tx-token", token);
    let joined = fresh.clone().entity_manage(joined).await;
    let joined = joined.expect("served").into_inner().event();
    assert_eq!(payload_of(&joined.expect("an event"))["success"], true);
    member.reply(&call, Reply::Nothing).await;
    let answer = payload_of(&answers.recv().await.expect("an answer"));
    assert_eq!(answer["success"], true, "{answer}");
    drop((connection, member, fresh, rest));
    assert_eq!(server.wait().await, Some(0));
}

#[tokio::test]
async fn a_service_that_joins_executes_for_the_user_who_began() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let connection = server
        .connect_as(&[("x-mock-user", "ann"), ("x-mock-roles", "ROLE_X")])
        .await;
    let robot = server
        .connect_as(&[
            ("x-mock-user", "robot"),
            ("x-mock-kind", "service"),
            ("x-mock-roles", "ROLE_M2M"),
        ])
        .await;
    let member = Member::join_on(robot, &[]).await;
    let bob = Arc::new(server.connect_as(&[("x-mock-user", "bob")]).await);
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1}),
        processed_by(json!([sync_processor("p", json!({}))])),
    )
    .await;
    let other = locked_model(&connection, "other", json!({"n": 1})).await;
    let model = other.clone();
    member.serve(move |call, connection| {
        let (bob, model) = (Arc::clone(&bob), model.clone());
        async move {
            assert_eq!(
                (
                    call.event.attribute("authid"),
                    call.event.attribute("authclaims")
                ),
                (Some("ann"), Some("ROLE_X"))
            );
            for connection in [&connection, &bob] {
                let made = joined(
                    connection,
                    call.token(),
                    "EntityCreateRequest",
                    new_entity(&model, &json!({"n": 1})),
                )
                .await;
                assert_eq!(made["success"], true, "{made}");
            }
            Reply::Nothing
        }
    });
    create(&connection, &doc, json!({"n": 1})).await;
    let (entities, _) = connection
        .all("EntityGetAllRequest", json!({"model": other}))
        .await;
    let mut reported = Vec::new();
    for entity in &entities {
        let id = &entity["payload"]["meta"]["id"];
        let (changes, _) = connection
            .all("EntityChangesMetadataGetRequest", json!({"entityId": id}))
            .await;
        let meta = &changes[0]["changeMeta"];
        reported.push(json!([
            meta["user"],
            meta["attributedKind"],
            meta["executedBy"]["id"]
        ]));
    }
    reported.sort_by_key(ToString::to_string);
    assert_eq!(
        reported,
        [
            json!(["ann", "user", "robot"]),
            json!(["bob", "user", "bob"])
        ]
    );
}

#[tokio::test]
async fn a_write_without_the_token_is_a_transaction_of_its_own() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
        ..
    } = stage().await;
    let model = other.clone();
    member.serve(move |_, connection| {
        let model = model.clone();
        async move {
            create(&connection, &model, json!({"n": 1})).await;
            Reply::Failure("no")
        }
    });
    assert_eq!(
        connection
            .fails("EntityCreateRequest", new_entity(&doc, &json!({"n": 1})))
            .await,
        "WORKFLOW_FAILED"
    );
    assert_eq!(
        connection
            .all("EntityGetAllRequest", json!({"model": other}))
            .await
            .0
            .len(),
        1
    );
}

#[tokio::test]
async fn a_tracked_search_makes_the_commit_depend_on_what_it_found() {
    let Stage {
        server: _server,
        connection,
        member,
        doc,
        other,
        ..
    } = stage().await;
    let found = create(&connection, &other, json!({"n": 1})).await;
    for (tracking, expected) in [(false, true), (true, false)] {
        let mut answers = connection
            .begin(request(
                "EntityCreateRequest",
                &connection.fresh_id(),
                new_entity(&doc, &json!({"n": 1})),
            ))
            .await;
        let call = member.next().await;
        let condition = json!({"type": "lifecycle", "field": "state", "operatorType": "EQUALS", "value": "CREATED"});
        let search = json!({"model": other, "condition": condition, "trackingRead": tracking});
        let event = request("EntitySearchRequest", &member.connection.fresh_id(), search)
            .with("cyodatxtoken", AttributeValue::String(call.token().into()));
        assert_eq!(member.connection.ask(event).await.len(), 2);
        connection
            .ok(
                "EntityUpdateRequest",
                json!({"dataFormat": "JSON", "payload": {"entityId": found, "data": {"n": 2}}}),
            )
            .await;
        member.reply(&call, Reply::Nothing).await;
        let answer = payload_of(&answers.recv().await.expect("an answer"));
        assert_eq!(answer["success"], expected, "{answer}");
        if !expected {
            assert_eq!(code(&answer), "CONFLICT");
        }
    }
}

#[tokio::test]
async fn what_a_member_wrote_in_an_attempt_that_is_repeated_is_undone() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let note = locked_model(&connection, "note", json!({"n": 1})).await;
    for (name, mode) in [("one", "SYNC"), ("two", "ASYNC_NEW_TX")] {
        let processor =
            json!({"name": "p", "executionMode": mode, "config": {"retryPolicy": "FIXED"}});
        let model = governed_model(
            &connection,
            name,
            json!({"n": 1}),
            processed_by(json!([processor])),
        )
        .await;
        let making = connection.ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})));
        let serving = async {
            for attempt in 1..=2 {
                let call = member.next().await;
                let new = new_entity(&note, &json!({"n": attempt}));
                let written = joined(&connection, call.token(), "EntityCreateRequest", new).await;
                assert_eq!(written["success"], true);
                let reply = if attempt == 1 {
                    Reply::Raw(
                        json!({"success": false, "error": {"code": "X", "message": "later", "retryable": true}}),
                    )
                } else {
                    Reply::Nothing
                };
                member.reply(&call, reply).await;
            }
        };
        tokio::join!(making, serving);
    }
    let (notes, _) = connection
        .all("EntityGetAllRequest", json!({"model": note}))
        .await;
    let numbers: Vec<_> = notes
        .iter()
        .map(|note| &note["payload"]["data"]["n"])
        .collect();
    assert_eq!(numbers, [2, 2]);
}

#[tokio::test]
async fn the_token_of_an_attempt_that_failed_joins_no_later_one() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let note = locked_model(&connection, "note", json!({"n": 1})).await;
    let processors = json!([
        {"name": "p", "executionMode": "ASYNC_NEW_TX"},
        {"name": "q", "executionMode": "SYNC", "config": {"retryPolicy": "FIXED"}}]);
    let sample = json!({"n": 1});
    let model = governed_model(&connection, "one", sample, processed_by(processors)).await;
    let making = connection.ok("EntityCreateRequest", new_entity(&model, &json!({"n": 1})));
    let failed = || {
        Reply::Raw(
            json!({"success": false, "error": {"code": "X", "message": "later", "retryable": true}}),
        )
    };
    let serving = async {
        let mut earlier: Vec<String> = Vec::new();
        for reply in [failed(), failed(), Reply::Nothing] {
            let call = member.next().await;
            for token in &earlier {
                let new = new_entity(&note, &json!({"n": 0}));
                let written = joined(&connection, token, "EntityCreateRequest", new).await;
                let reported = written["error"]["message"].as_str().expect("a failure");
                assert!(reported.starts_with("TRANSACTION_NOT_FOUND"), "{written}");
            }
            let new = new_entity(&note, &json!({"n": earlier.len()}));
            let written = joined(&connection, call.token(), "EntityCreateRequest", new).await;
            assert_eq!(written["success"], true, "{written}");
            earlier.push(call.token().to_owned());
            member.reply(&call, reply).await;
        }
    };
    tokio::join!(making, serving);
    let (notes, _) = connection
        .all("EntityGetAllRequest", json!({"model": note}))
        .await;
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["payload"]["data"]["n"], 2);
}
