//! Deleting many: all of a model, those that match, those that were there (`rest.md` §3.7).

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Server, create, exactly, get, governed_model, locked_model,
    new_entity, processed_by, scene::simple, sync_processor,
};

/// A model with entities of `n` from 0 on; their ids.
async fn numbered(connection: &Connection, count: usize) -> (Value, Vec<String>) {
    let model = locked_model(connection, "doc", json!({"n": 1, "s": "x"})).await;
    let payloads: Vec<_> = (0..count)
        .map(|n| json!({"model": model, "data": {"n": n}}))
        .collect();
    let made = connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": payloads}),
        )
        .await;
    let ids = made["transactionInfo"]["entityIds"].as_array();
    let ids = ids.expect("ids").iter();
    let ids = ids.map(|id| id.as_str().expect("an id").to_owned());
    (model, ids.collect())
}

async fn count(connection: &Connection, model: &Value) -> Value {
    let (counts, _) = connection
        .all("EntityStatsGetRequest", json!({"model": model}))
        .await;
    counts[0]["count"].clone()
}

#[tokio::test]
async fn only_what_matches_is_deleted_however_much_it_is() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let (model, ids) = numbered(&connection, 2_400).await;
    let small = simple("$.n", "LESS_THAN", json!(1_200));
    let deleted = rest
        .send(
            "DELETE",
            "/api/entity/doc/1?verbose=true",
            small.to_string(),
        )
        .await
        .ok();
    assert_eq!(
        deleted["deleteResult"],
        json!({"numberOfEntitites": 1_200, "numberOfEntititesRemoved": 1_200, "idToError": {}})
    );
    assert_eq!(deleted["ids"], json!(ids[..1_200]));
    assert_eq!(count(&connection, &model).await, 1_200);
    let again = rest
        .send("DELETE", "/api/entity/doc/1", small.to_string())
        .await
        .ok();
    assert_eq!(again["deleteResult"]["numberOfEntitites"], 0);
    assert!(again.get("ids").is_none());

    let one = connection
        .ok(
            "EntityDeleteAllRequest",
            json!({"model": model, "verbose": true, "condition": simple("$.n", "EQUALS", json!(1_200))}),
        )
        .await;
    assert_eq!(
        (&one["numDeleted"], &one["entityIds"]),
        (&json!(1), &json!([ids[1_200]]))
    );
    assert!(one.get("errorsById").is_none());

    // What is longer than other bodies may be is still a condition; blank is none: all.
    let long = format!(
        "{}{}",
        " ".repeat(11 << 20),
        simple("$.n", "EQUALS", json!(1_201))
    );
    let deleted = rest.send("DELETE", "/api/entity/doc/1", long).await.ok();
    assert_eq!(deleted["deleteResult"]["numberOfEntititesRemoved"], 1);
    let deleted = rest.send("DELETE", "/api/entity/doc/1", " \n").await.ok();
    assert_eq!(deleted["deleteResult"]["numberOfEntititesRemoved"], 1_198);
    assert_eq!(count(&connection, &model).await, 0);
}

#[tokio::test]
async fn what_matched_at_a_time_is_deleted_as_it_is_now() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let (model, ids) = numbered(&connection, 4).await;
    let then = exactly(&get(&connection, &ids[3]).await["meta"]["lastUpdateTime"]);
    let changed = json!({"dataFormat": "JSON", "payload": {"entityId": ids[0], "data": {"n": 70}}});
    connection.ok("EntityUpdateRequest", changed).await;
    connection
        .ok("EntityDeleteRequest", json!({"entityId": ids[1]}))
        .await;
    let late = create(&connection, &model, json!({"n": 0})).await;
    let condition = simple("$.n", "LESS_THAN", json!(3)).to_string();
    let path = format!("/api/entity/doc/1?verbose=true&pointInTime={then}");
    let deleted = rest.send("DELETE", &path, condition).await.ok();
    let why = "ENTITY_NOT_FOUND: entity not found";
    assert_eq!(
        deleted["deleteResult"],
        json!({"numberOfEntitites": 3, "numberOfEntititesRemoved": 2, "idToError": {&ids[1]: why}})
    );
    assert_eq!(deleted["ids"], json!([ids[0], ids[2]]));
    for (id, is_there) in [
        (&ids[0], false),
        (&ids[2], false),
        (&ids[3], true),
        (&late, true),
    ] {
        let got = rest.get(&format!("/api/entity/{id}")).await;
        assert_eq!(got.status == 200, is_there, "{id}");
    }
    // The event says the same.
    let deleted = connection
        .ok(
            "EntityDeleteAllRequest",
            json!({"model": model, "pointInTime": then, "condition": simple("$.n", "LESS_THAN", json!(3))}),
        )
        .await;
    assert_eq!(deleted["numDeleted"], 0);
    assert_eq!(
        deleted["errorsById"],
        json!({&ids[0]: why, &ids[1]: why, &ids[2]: why})
    );
}

#[tokio::test]
async fn a_condition_that_is_none_deletes_nothing() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let (model, _) = numbered(&connection, 3).await;
    let group = |operator: &str| json!({"type": "group", "operator": operator, "conditions": []});
    for (condition, code) in [
        (json!({}), "INVALID_CONDITION"),
        (json!(null), "INVALID_CONDITION"),
        (json!([]), "INVALID_CONDITION"),
        (json!("all"), "INVALID_CONDITION"),
        (json!({"type": "everything"}), "INVALID_CONDITION"),
        (group("XOR"), "INVALID_CONDITION"),
        (
            json!({"type": "group", "operator": "AND", "conditons": []}),
            "INVALID_CONDITION",
        ),
        (
            json!({"type": "simple", "jsonPath": "$.n", "operatorType": "NOT_EQUAL", "vlaue": 1}),
            "INVALID_CONDITION",
        ),
        (simple("$.n", "EQUAL", json!(1)), "INVALID_CONDITION"),
        (simple("$.n", "BETWEEN", json!([1])), "INVALID_CONDITION"),
        (
            simple("$.s", "MATCHES_PATTERN", json!("(")),
            "INVALID_CONDITION",
        ),
        (
            simple("$.n", "EQUALS", json!({"n": 1})),
            "INVALID_CONDITION",
        ),
        (
            json!({"type": "function", "function": {"name": "f"}}),
            "INVALID_CONDITION",
        ),
        (
            simple("$.unknown", "IS_NULL", json!(null)),
            "INVALID_FIELD_PATH",
        ),
        (
            simple("$.n", "GREATER_THAN", json!("many")),
            "CONDITION_TYPE_MISMATCH",
        ),
    ] {
        let said = rest
            .send("DELETE", "/api/entity/doc/1", condition.to_string())
            .await;
        said.refused(400, code);
        let payload = json!({"model": model, "condition": condition});
        let refused = connection.fails("EntityDeleteAllRequest", payload).await;
        assert_eq!(refused, code, "{condition}");
    }
    let said = rest.send("DELETE", "/api/entity/doc/1", "{not json").await;
    said.refused(400, "INVALID_CONDITION");
    for (query, parameter) in [
        ("pointInTime=soon", "pointInTime"),
        ("verbose=maybe", "verbose"),
    ] {
        let said = rest
            .send("DELETE", &format!("/api/entity/doc/1?{query}"), "")
            .await;
        let problem = said.refused(400, "BAD_REQUEST");
        assert_eq!(problem["properties"]["parameter"], parameter);
    }
    let all = group("AND").to_string();
    let said = rest.send("DELETE", "/api/entity/doc/2", all.clone()).await;
    said.refused(404, "MODEL_NOT_FOUND");
    assert_eq!(count(&connection, &model).await, 3);
    let deleted = rest.send("DELETE", "/api/entity/doc/1", all).await.ok();
    assert_eq!(deleted["deleteResult"]["numberOfEntititesRemoved"], 3);
}

#[tokio::test]
async fn inside_a_transaction_its_own_changes_are_listed_and_matched() {
    let server = Server::start();
    let connection = server.connect().await;
    let (other, ids) = numbered(&connection, 6).await;
    let member = Member::join(&server, &[]).await;
    let sample = json!({"n": 1, "seen": "x"});
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let processed = governed_model(&connection, "processed", sample, workflow).await;
    let (model, known) = (other.clone(), ids.clone());
    member.serve(move |call, connection| {
        let (model, known) = (model.clone(), known.clone());
        async move {
            let token = call.token().to_owned();
            let attributes = [("cyodatxtoken", token.as_str())];
            let joined = async |kind: &str, payload: Value| {
                connection.call_with(kind, payload, &attributes).await
            };
            joined("EntityCreateRequest", new_entity(&model, &json!({"n": 100}))).await;
            let changed =
                json!({"dataFormat": "JSON", "payload": {"entityId": known[0], "data": {"n": 101}}});
            joined("EntityUpdateRequest", changed).await;
            joined("EntityDeleteRequest", json!({"entityId": known[1]})).await;
            let mut pages = Vec::new();
            for number in 0..4 {
                let page = connection
                    .all_with(
                        "EntityGetAllRequest",
                        json!({"model": model, "pageSize": 2, "pageNumber": number}),
                        &attributes,
                    )
                    .await;
                pages.push(page.iter().map(|entity| entity["payload"]["data"]["n"].clone()).collect::<Vec<_>>());
            }
            assert_eq!(json!(pages), json!([[101, 2], [3, 4], [5, 100], []]));
            let large = json!({"model": model, "verbose": true, "condition": simple("$.n", "GREATER_THAN", json!(4))});
            let deleted = joined("EntityDeleteAllRequest", large).await;
            assert_eq!(deleted["numDeleted"], 3, "{deleted}");
            Reply::Data(json!({"n": 1}))
        }
    });
    create(&connection, &processed, json!({"n": 1})).await;
    let (left, _) = connection
        .all("EntityGetAllRequest", json!({"model": other}))
        .await;
    let left: Vec<_> = left
        .iter()
        .map(|entity| entity["payload"]["data"]["n"].clone())
        .collect();
    assert_eq!(json!(left), json!([2, 3, 4]));
}

#[tokio::test]
async fn what_is_gone_is_searched_in_the_past_and_takes_no_more_memory() {
    let server = Server::start();
    let connection = server.connect().await;
    let (model, ids) = numbered(&connection, 2_400).await;
    let then = exactly(&get(&connection, &ids[0]).await["meta"]["lastUpdateTime"]);
    for n in [5, 700] {
        let change =
            json!({"dataFormat": "JSON", "payload": {"entityId": ids[n], "data": {"n": 9_999}}});
        connection.ok("EntityUpdateRequest", change).await;
    }
    connection
        .ok("EntityDeleteAllRequest", json!({"model": model}))
        .await;
    let late = json!({"dataFormat": "JSON", "payload": {"model": model, "data": {"n": 3}}});
    connection.ok("EntityCreateRequest", late).await;
    for (then, expected) in [(Some(then), 1_200), (None, 1)] {
        let mut search = json!({"model": model, "condition": simple("$.n", "LESS_THAN", json!(1_200)), "limit": 5_000});
        if let Some(then) = then {
            search["pointInTime"] = json!(then);
        }
        let (found, end) = connection.all("EntitySearchRequest", search).await;
        assert_eq!(
            (end["success"].clone(), found.len()),
            (json!(true), expected)
        );
    }
}
