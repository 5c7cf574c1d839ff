//! Entities: making, changing, deleting, and what they were.

use serde_json::{Value, json};

use crate::support::{Server, create, exactly, get, locked_model, new_entity};

#[tokio::test]
async fn an_entity_is_made_changed_and_deleted_and_its_history_stays() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "note", json!({"text": "x", "n": 1})).await;
    let made = connection
        .ok(
            "EntityCreateRequest",
            new_entity(&model, &json!({"text": "one", "n": 1})),
        )
        .await;
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id")
        .to_owned();
    let first = get(&connection, &id).await;
    assert_eq!(first["type"], "JSON");
    assert_eq!(first["data"], json!({"text": "one", "n": 1}));
    assert_eq!(
        first["meta"]["transactionId"],
        made["transactionInfo"]["transactionId"]
    );
    assert_eq!(first["meta"]["modelKey"], model);
    assert_eq!(first["meta"]["state"], "CREATED");
    assert_eq!(first["meta"]["transitionForLatestSave"], "loopback");

    let update =
        json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"text": "two"}}});
    let updated = connection.ok("EntityUpdateRequest", update).await;
    let second = get(&connection, &id).await;
    assert_eq!(
        second["data"],
        json!({"text": "two"}),
        "a replacement, not a merge"
    );
    assert_eq!(
        second["meta"]["transactionId"],
        updated["transactionInfo"]["transactionId"]
    );
    assert_eq!(
        second["meta"]["creationDate"],
        first["meta"]["creationDate"]
    );
    assert_ne!(
        second["meta"]["lastUpdateTime"],
        first["meta"]["lastUpdateTime"]
    );

    // Clients that know milliseconds only cut the time they were given.
    let cut =
        &second["meta"]["lastUpdateTime"].as_str().expect("a time")[.."2026-01-02T03:04:05".len()];
    let milliseconds =
        exactly(&second["meta"]["lastUpdateTime"])[cut.len()..cut.len() + 4].to_owned();
    let cut = json!({"entityId": id, "pointInTime": format!("{cut}{milliseconds}Z")});
    assert_eq!(
        connection.ok("EntityGetRequest", cut).await["payload"]["data"],
        second["data"]
    );

    let deleted = connection
        .ok("EntityDeleteRequest", json!({"entityId": id}))
        .await;
    assert_eq!(
        (&deleted["entityId"], &deleted["model"]),
        (&json!(id), &model)
    );
    assert_eq!(
        connection
            .fails("EntityGetRequest", json!({"entityId": id}))
            .await,
        "ENTITY_NOT_FOUND"
    );
    assert_eq!(
        connection
            .fails("EntityDeleteRequest", json!({"entityId": id}))
            .await,
        "ENTITY_NOT_FOUND"
    );

    let (changes, end) = connection
        .all("EntityChangesMetadataGetRequest", json!({"entityId": id}))
        .await;
    assert_eq!((&end["success"], &end["count"]), (&json!(true), &json!(3)));
    let kinds: Vec<_> = changes
        .iter()
        .map(|change| change["changeMeta"]["changeType"].as_str().expect("a type"))
        .collect();
    assert_eq!(kinds, ["DELETE", "UPDATE", "CREATE"]);
    assert_eq!(
        changes[2]["changeMeta"]["transactionId"],
        made["transactionInfo"]["transactionId"]
    );
    assert_eq!(changes[0]["changeMeta"]["user"], "mock-user-001");

    for (change, data) in [
        (&changes[2], Some(&first["data"])),
        (&changes[1], Some(&second["data"])),
        (&changes[0], None),
    ] {
        let then = exactly(&change["changeMeta"]["timeOfChange"]);
        let answer = connection
            .call(
                "EntityGetRequest",
                json!({"entityId": id, "pointInTime": then}),
            )
            .await;
        assert_eq!(answer["payload"].get("data"), data, "{then}");
    }
    let by_transaction =
        json!({"entityId": id, "transactionId": made["transactionInfo"]["transactionId"]});
    assert_eq!(
        connection.ok("EntityGetRequest", by_transaction).await["payload"]["data"],
        first["data"]
    );
    let both = json!({"entityId": id, "transactionId": "x", "pointInTime": "2026-01-01T00:00:00Z"});
    assert_eq!(
        connection.fails("EntityGetRequest", both).await,
        "BAD_REQUEST"
    );
}

#[tokio::test]
async fn numbers_survive_digit_for_digit_through_every_door() {
    let server = Server::start();
    let connection = server.connect().await;
    let rest = server.rest();
    let numbers = "{\"a\":9007199254740993,\"b\":1.50,\"c\":1e2,\"d\":12345678901234567890123456789012345678901234567890,\"e\":-0.0,\"f\":1E400}";
    let path = "/api/model/import/JSON/SAMPLE_DATA/numbers/1";
    assert_eq!(rest.post(path, numbers).await.status, 200);
    assert_eq!(rest.put("/api/model/numbers/1/lock", "").await.status, 200);
    let made = rest
        .post("/api/entity/JSON/numbers/1", numbers.replace(',', " ,\n "))
        .await
        .ok();
    let id = made[0]["entityIds"][0].as_str().expect("an id").to_owned();
    let said = rest.get(&format!("/api/entity/{id}")).await;
    assert!(
        said.text.contains(&format!("\"data\":{numbers},")),
        "{}",
        said.text
    );
    let event = crate::support::request("EntityGetRequest", "1", json!({"entityId": id}));
    let answered = connection
        .unary("entitySearch", event, &[])
        .await
        .expect("an answer");
    assert!(
        answered
            .text()
            .expect("text")
            .contains(&format!("\"data\":{numbers},"))
    );
}

#[tokio::test]
async fn a_document_that_does_not_fit_its_model_is_refused_whole() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(
        &connection,
        "strict",
        json!({"n": 1, "o": {"t": "x"}, "l": [{"q": 1}]}),
    )
    .await;
    for (data, code, reported) in [
        (
            json!({"n": "x"}),
            "INCOMPATIBLE_TYPE",
            "n: expected INTEGER, got STRING",
        ),
        (
            json!({"m": 1}),
            "BAD_REQUEST",
            "m: unexpected field not present in model",
        ),
        (
            json!({"o": 1}),
            "BAD_REQUEST",
            "o: expected object, got INTEGER",
        ),
        (
            json!({"l": [{"q": 1}, {"q": true}], "z": 1}),
            "INCOMPATIBLE_TYPE",
            "l[1].q: expected INTEGER, got BOOLEAN; z: unexpected",
        ),
        (json!("text"), "BAD_REQUEST", "expected object"),
    ] {
        let answer = connection
            .call("EntityCreateRequest", new_entity(&model, &data))
            .await;
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(
            message.starts_with(code) && message.contains(reported),
            "{data}: {message}"
        );
    }
    let (listed, _) = connection
        .all("EntityGetAllRequest", json!({"model": model}))
        .await;
    assert!(listed.is_empty());
}

#[tokio::test]
async fn a_stale_precondition_is_refused_and_changes_nothing() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let seen = get(&connection, &id).await["meta"]["transactionId"].clone();
    let update = |n: i32, if_match: &Value| json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": n}, "ifMatch": if_match}});
    connection.ok("EntityUpdateRequest", update(2, &seen)).await;
    assert_eq!(
        connection
            .fails("EntityUpdateRequest", update(3, &seen))
            .await,
        "ENTITY_MODIFIED"
    );
    assert_eq!(get(&connection, &id).await["data"], json!({"n": 2}));
}

/// As clients send it whose type always has the member.
#[tokio::test]
async fn an_empty_precondition_is_none() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    let item = json!([{"id": id, "payload": "{\"n\":2}", "ifMatch": ""}]);
    let chunks = rest.put("/api/entity/JSON", item.to_string()).await.ok();
    assert_eq!(chunks[0]["entityIds"], json!([id]), "{chunks}");
    let change = json!({"entityId": id, "data": {"n": 3}, "ifMatch": ""});
    let update = json!({"dataFormat": "JSON", "payload": change});
    connection.ok("EntityUpdateRequest", update).await;
    assert_eq!(get(&connection, &id).await["data"], json!({"n": 3}));
    let patch = json!({"patchFormat": "MERGE_PATCH", "payload": {"entityId": id, "patch": {}, "ifMatch": ""}});
    let refused = connection.fails("EntityPatchRequest", patch).await;
    assert_eq!(refused, "PRECONDITION_REQUIRED");
    let taken = json!({"entityId": id, "transition": "UPDATE", "ifMatch": ""});
    connection.ok("EntityTransitionRequest", taken).await;
    let deletion = json!({"entityId": id, "ifMatch": ""});
    connection.ok("EntityDeleteRequest", deletion).await;
}

#[tokio::test]
async fn of_concurrent_updates_each_is_done_or_refused_and_none_is_lost() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "counter", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 0})).await;
    // Each adds one to what it read, and tries again when it is refused.
    let add = async || loop {
        let entity = get(&connection, &id).await;
        let n = entity["data"]["n"].as_i64().expect("a number");
        let change = json!({"entityId": id, "data": {"n": n + 1}, "ifMatch": entity["meta"]["transactionId"]});
        let answer = connection
            .call(
                "EntityUpdateRequest",
                json!({"dataFormat": "JSON", "payload": change}),
            )
            .await;
        if answer["success"] == true {
            return;
        }
        let code = crate::support::code(&answer);
        assert!(code == "CONFLICT" || code == "ENTITY_MODIFIED", "{answer}");
        assert_eq!(
            answer["error"].get("retryable").is_some(),
            code == "CONFLICT"
        );
    };
    futures_util::future::join_all((0..30).map(|_| add())).await;
    assert_eq!(get(&connection, &id).await["data"], json!({"n": 30}));
}

#[tokio::test]
async fn a_collection_is_made_whole_or_not_at_all() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "item", json!({"n": 1})).await;
    let item = |data: Value| json!({"model": model, "data": data});
    let good: Vec<_> = (0..5).map(|n| item(json!({"n": n}))).collect();
    let made = connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": good}),
        )
        .await;
    let ids = made["transactionInfo"]["entityIds"]
        .as_array()
        .expect("ids");
    assert_eq!(ids.len(), 5);
    for (n, id) in ids.iter().enumerate() {
        let entity = get(&connection, id.as_str().expect("an id")).await;
        assert_eq!(entity["data"]["n"], n, "in the order of the request");
        assert_eq!(
            entity["meta"]["transactionId"],
            made["transactionInfo"]["transactionId"]
        );
    }
    let bad =
        json!({"dataFormat": "JSON", "payloads": [item(json!({"n": 8})), item(json!({"n": "x"}))]});
    let refused = connection.call("EntityCreateCollectionRequest", bad).await;
    assert!(
        refused["error"]["message"]
            .as_str()
            .expect("text")
            .starts_with("INCOMPATIBLE_TYPE: item 1: "),
        "{refused}"
    );
    let (listed, _) = connection
        .all("EntityGetAllRequest", json!({"model": model}))
        .await;
    assert_eq!(listed.len(), 5);

    // A list as the data of one request is the same.
    let many = connection
        .ok(
            "EntityCreateRequest",
            new_entity(&model, &json!([{"n": 6}, {"n": 7}])),
        )
        .await;
    assert_eq!(
        many["transactionInfo"]["entityIds"]
            .as_array()
            .expect("ids")
            .len(),
        2
    );
}

#[tokio::test]
async fn a_window_that_fails_ends_the_work_and_keeps_those_before_it() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "item", json!({"n": 1})).await;
    let item = |data: Value| json!({"model": model, "data": data});
    let payloads = json!([
        item(json!({"n": 1})),
        item(json!({"n": 2})),
        item(json!({"n": "x"})),
        item(json!({"n": 4})),
        item(json!({"n": 5}))
    ]);
    let request = json!({"dataFormat": "JSON", "payloads": payloads, "chunkSize": 2});
    let made = connection
        .ok("EntityCreateCollectionRequest", request.clone())
        .await;
    let chunks = made["chunks"].as_array().expect("chunks");
    assert_eq!(chunks.len(), 2);
    assert_eq!(chunks[0], made["transactionInfo"]);
    assert_eq!(chunks[1]["entityIds"], json!([]));
    assert_eq!(
        (
            &chunks[1]["error"]["code"],
            &chunks[1]["error"]["chunkIndex"]
        ),
        (&json!("INCOMPATIBLE_TYPE"), &json!(1))
    );
    assert!(chunks[1].get("transactionId").is_none());
    let (listed, _) = connection
        .all("EntityGetAllRequest", json!({"model": model}))
        .await;
    assert_eq!(listed.len(), 2);
}

#[tokio::test]
async fn in_a_collection_update_only_a_failed_precondition_leaves_its_item_out() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "item", json!({"n": 1})).await;
    let (a, b) = (
        create(&connection, &model, json!({"n": 1})).await,
        create(&connection, &model, json!({"n": 2})).await,
    );
    let stale = "00000000-0000-0000-0000-000000000000";
    let payloads = json!([{"entityId": a, "data": {"n": 10}}, {"entityId": b, "data": {"n": 20}, "ifMatch": stale}]);
    let updated = connection
        .ok(
            "EntityUpdateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": payloads}),
        )
        .await;
    assert_eq!(updated["chunks"][0]["entityIds"], json!([a]));
    assert_eq!(
        updated["chunks"][0]["failed"],
        json!([{"entityId": b, "error": {"code": "ENTITY_MODIFIED", "message": "entity has been modified since last read", "itemIndex": 1}}])
    );
    assert_eq!(
        (
            get(&connection, &a).await["data"]["n"].clone(),
            get(&connection, &b).await["data"]["n"].clone()
        ),
        (json!(10), json!(2))
    );
    let payloads = json!([{"entityId": a, "data": {"n": 11}}, {"entityId": b, "data": {"n": "x"}}]);
    let code = connection
        .fails(
            "EntityUpdateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": payloads}),
        )
        .await;
    assert_eq!(code, "INCOMPATIBLE_TYPE");
    assert_eq!(get(&connection, &a).await["data"]["n"], 10);
}

#[tokio::test]
async fn pages_follow_the_order_of_ids_and_see_the_past() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "item", json!({"n": 1})).await;
    let mut ids = Vec::new();
    for n in 0..7 {
        ids.push(create(&connection, &model, json!({"n": n})).await);
    }
    let page = async |payload: Value| {
        let (entities, end) = connection.all("EntityGetAllRequest", payload).await;
        assert_eq!(end["success"], true, "{end}");
        entities
            .iter()
            .map(|entity| {
                entity["payload"]["meta"]["id"]
                    .as_str()
                    .expect("an id")
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(page(json!({"model": model})).await, ids);
    assert_eq!(
        page(json!({"model": model, "pageSize": 3, "pageNumber": 0})).await,
        ids[..3]
    );
    assert_eq!(
        page(json!({"model": model, "pageSize": 3, "pageNumber": 2})).await,
        ids[6..]
    );
    assert_eq!(
        page(json!({"model": model, "pageSize": 3, "pageNumber": 3})).await,
        Vec::<String>::new()
    );
    let then = get(&connection, &ids[6]).await["meta"]["lastUpdateTime"].clone();
    connection
        .ok("EntityDeleteRequest", json!({"entityId": ids[1]}))
        .await;
    let late = create(&connection, &model, json!({"n": 9})).await;
    let now = page(json!({"model": model})).await;
    assert!(now.contains(&late) && !now.contains(&ids[1]));
    let past = page(
        json!({"model": model, "pageSize": 3, "pageNumber": 0, "pointInTime": exactly(&then)}),
    )
    .await;
    assert_eq!(past, ids[..3]);
    for (payload, code) in [
        (json!({"model": model, "pageNumber": -1}), "BAD_REQUEST"),
        (
            json!({"model": model, "pageNumber": 214_749}),
            "BAD_REQUEST",
        ),
        (json!({"model": model, "pageSize": 10_001}), "BAD_REQUEST"),
        (
            json!({"model": {"name": "nothing", "version": 1}}),
            "MODEL_NOT_FOUND",
        ),
    ] {
        let (events, end) = connection.all("EntityGetAllRequest", payload.clone()).await;
        assert_eq!(
            (events.len(), crate::support::code(&events[0]).as_str()),
            (1, code),
            "{payload}"
        );
        assert_eq!(crate::support::code(&end), code);
    }
}

#[tokio::test]
async fn deleting_all_is_one_transaction_and_may_mean_those_of_then() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "item", json!({"n": 1})).await;
    let payloads: Vec<_> = (0..700)
        .map(|n| json!({"model": model, "data": {"n": n}}))
        .collect();
    connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": payloads}),
        )
        .await;
    let (counts, _) = connection
        .all("EntityStatsGetRequest", json!({"model": model}))
        .await;
    assert_eq!(counts[0]["count"], 700);
    let deleted = connection
        .ok(
            "EntityDeleteAllRequest",
            json!({"model": model, "verbose": true}),
        )
        .await;
    assert_eq!(deleted["numDeleted"], 700);
    assert_eq!(deleted["entityIds"].as_array().expect("ids").len(), 700);
    let quiet = connection
        .ok("EntityDeleteAllRequest", json!({"model": model}))
        .await;
    assert_eq!(
        (&quiet["numDeleted"], &quiet["entityIds"]),
        (&json!(0), &json!([]))
    );

    let old = create(&connection, &model, json!({"n": 1})).await;
    let then = exactly(&get(&connection, &old).await["meta"]["lastUpdateTime"]);
    let kept = create(&connection, &model, json!({"n": 2})).await;
    let deleted = connection
        .ok(
            "EntityDeleteAllRequest",
            json!({"model": model, "pointInTime": then}),
        )
        .await;
    assert_eq!(deleted["numDeleted"], 1);
    get(&connection, &kept).await;
}

#[tokio::test]
async fn counts_are_reported_per_model_and_state() {
    let server = Server::start();
    let connection = server.connect().await;
    let a = locked_model(&connection, "a", json!({"n": 1})).await;
    locked_model(&connection, "b", json!({"n": 1})).await;
    let first = create(&connection, &a, json!({"n": 1})).await;
    create(&connection, &a, json!({"n": 2})).await;
    connection
        .ok(
            "EntityTransitionRequest",
            json!({"entityId": first, "transition": "DELETE"}),
        )
        .await;
    let (counts, _) = connection.all("EntityStatsGetRequest", json!({})).await;
    let reported: Vec<_> = counts
        .iter()
        .map(|count| (count["modelName"].clone(), count["count"].clone()))
        .collect();
    assert_eq!(reported, [(json!("a"), json!(2)), (json!("b"), json!(0))]);
    let (states, _) = connection
        .all("EntityStatsByStateGetRequest", json!({"states": []}))
        .await;
    let reported: Vec<_> = states
        .iter()
        .map(|count| (count["state"].clone(), count["count"].clone()))
        .collect();
    assert_eq!(
        reported,
        [(json!("CREATED"), json!(1)), (json!("DELETED"), json!(1))]
    );
    let (states, _) = connection
        .all(
            "EntityStatsByStateGetRequest",
            json!({"model": a, "states": ["DELETED", "ELSEWHERE"]}),
        )
        .await;
    assert_eq!(states.len(), 1);
    let (events, _) = connection
        .all(
            "EntityStatsGetRequest",
            json!({"model": {"name": "c", "version": 1}}),
        )
        .await;
    assert_eq!(crate::support::code(&events[0]), "MODEL_NOT_FOUND");
}

#[tokio::test]
async fn all_models_are_counted_while_some_are_deleted() {
    let server = Server::start();
    let rest = server.rest();
    for n in 0..40 {
        let path = format!("/api/model/import/JSON/SAMPLE_DATA/m{n}/1");
        rest.post(&path, r#"{"n":1}"#).await.ok();
    }
    let deleting = async {
        for n in 0..40 {
            rest.delete(&format!("/api/model/m{n}/1")).await.ok();
        }
    };
    let counting = async {
        for _ in 0..40 {
            let counts = rest.get("/api/entity/stats/states").await.ok();
            assert_eq!(counts, json!([]));
        }
    };
    tokio::join!(deleting, counting);
    rest.get("/api/entity/stats/states/m0/1")
        .await
        .refused(404, "MODEL_NOT_FOUND");
}

#[tokio::test]
async fn a_tenant_sees_nothing_of_another() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let (ours, theirs) = (
        server.connect_as(&[("x-mock-tenant", "ours")]).await,
        server.connect_as(&[("x-mock-tenant", "theirs")]).await,
    );
    let model = locked_model(&ours, "secret", json!({"n": 1})).await;
    let id = create(&ours, &model, json!({"n": 1})).await;
    let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 2}}});
    for (kind, payload, code) in [
        (
            "EntityGetRequest",
            json!({"entityId": id}),
            "ENTITY_NOT_FOUND",
        ),
        (
            "EntityDeleteRequest",
            json!({"entityId": id}),
            "ENTITY_NOT_FOUND",
        ),
        ("EntityUpdateRequest", update, "ENTITY_NOT_FOUND"),
        (
            "EntityTransitionRequest",
            json!({"entityId": id, "transition": "UPDATE"}),
            "ENTITY_NOT_FOUND",
        ),
        (
            "EntityTransitionsGetRequest",
            json!({"entityId": id}),
            "ENTITY_NOT_FOUND",
        ),
        (
            "EntityModelExportRequest",
            json!({"model": model, "converter": "SIMPLE_VIEW"}),
            "MODEL_NOT_FOUND",
        ),
        (
            "EntityWorkflowExportRequest",
            json!({"model": model}),
            "MODEL_NOT_FOUND",
        ),
        (
            "EntityModelDeleteRequest",
            json!({"model": model}),
            "MODEL_NOT_FOUND",
        ),
        (
            "EntityCreateRequest",
            new_entity(&model, &json!({"n": 1})),
            "MODEL_NOT_FOUND",
        ),
    ] {
        assert_eq!(theirs.fails(kind, payload).await, code, "{kind}");
    }
    for (kind, payload, code) in [
        (
            "EntityChangesMetadataGetRequest",
            json!({"entityId": id}),
            "ENTITY_NOT_FOUND",
        ),
        (
            "EntityGetAllRequest",
            json!({"model": model}),
            "MODEL_NOT_FOUND",
        ),
        (
            "EntitySearchRequest",
            json!({"model": model, "condition": {"type": "group", "operator": "AND", "conditions": []}}),
            "MODEL_NOT_FOUND",
        ),
    ] {
        let (events, _) = theirs.all(kind, payload).await;
        assert_eq!(crate::support::code(&events[0]), code, "{kind}");
    }
    assert_eq!(
        theirs.ok("EntityModelGetAllRequest", json!({})).await["models"],
        json!([])
    );
    assert_eq!(
        theirs.all("EntityStatsGetRequest", json!({})).await.0,
        Vec::<Value>::new()
    );
    assert_eq!(get(&ours, &id).await["data"], json!({"n": 1}));
}

#[tokio::test]
async fn who_wrote_is_remembered() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ann = server.connect_as(&[("x-mock-user", "ann")]).await;
    let robot = server
        .connect_as(&[("x-mock-user", "robot"), ("x-mock-kind", "service")])
        .await;
    let model = locked_model(&ann, "doc", json!({"n": 1})).await;
    let id = create(&ann, &model, json!({"n": 1})).await;
    robot
        .ok(
            "EntityUpdateRequest",
            json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": 2}}}),
        )
        .await;
    let (changes, _) = ann
        .all("EntityChangesMetadataGetRequest", json!({"entityId": id}))
        .await;
    let reported: Vec<_> = changes
        .iter()
        .map(|change| {
            (
                change["changeMeta"]["user"].clone(),
                change["changeMeta"]["attributedKind"].clone(),
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            (json!("robot"), json!("service")),
            (json!("ann"), json!("user"))
        ]
    );
}
