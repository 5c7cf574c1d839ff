//! Adaptive indexes: paths that searches ask for often get one, and lose it when nobody asks any more.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Connection, Rest, Server, locked_model, wait};

/// A server where a path needs to cost little before it gets an index.
const EAGER: (&str, &str) = ("INTERLOCK_INDEX_ADAPTIVE_VISITS", "500");

/// For how long an index is kept that nobody uses, where that is waited for.
const UNUSED: Duration = Duration::from_secs(3);

/// More searches than it takes.
const OFTEN: usize = 30;

fn equals(path: &str, value: impl Into<Value>) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": "EQUALS", "value": value.into()})
}

fn group(operator: &str, conditions: &[Value]) -> Value {
    json!({"type": "group", "operator": operator, "conditions": conditions})
}

/// A model with documents of which `$.n` tells a few apart and `$.half` hardly any.
async fn parcels(connection: &Connection, count: usize) -> Value {
    let sample = json!({"n": 1, "half": 1, "s": "x", "tags": ["a"]});
    let model = locked_model(connection, "parcel", sample).await;
    add(connection, &model, count).await;
    model
}

/// Another model with the same documents.
async fn witness(connection: &Connection) -> Value {
    let sample = json!({"n": 1, "half": 1, "s": "x", "tags": ["a"]});
    let model = locked_model(connection, "witness", sample).await;
    add(connection, &model, 200).await;
    model
}

async fn add(connection: &Connection, model: &Value, count: usize) {
    let payloads: Vec<_> = (0..count)
        .map(|n| {
            let data = json!({"n": n % 100, "half": n % 2, "s": format!("s{n}"), "tags": [format!("t{n}"), "all"]});
            json!({"model": model, "data": data})
        })
        .collect();
    let many = json!({"dataFormat": "JSON", "payloads": payloads});
    connection.ok("EntityCreateCollectionRequest", many).await;
}

async fn explain(connection: &Connection, model: &Value, condition: &Value) -> Value {
    let search = json!({"model": model, "condition": condition, "limit": 10000});
    connection.ok("EntitySearchExplainRequest", search).await
}

/// The indexes of a model, as its export lists them.
async fn indexes(connection: &Connection, model: &Value) -> Vec<Value> {
    let export = json!({"model": model, "converter": "SIMPLE_VIEW"});
    let answer = connection.ok("EntityModelExportRequest", export).await;
    let listed = answer["payload"]["indexes"].as_array().cloned();
    listed.unwrap_or_default()
}

fn adaptive(path: &str) -> Value {
    json!({"path": path, "state": "READY", "declared": false})
}

/// Waits until the indexes of a model are these.
async fn until(connection: &Connection, model: &Value, expected: &[Value]) {
    wait::until(&format!("{expected:?}"), async || {
        indexes(connection, model).await == expected
    })
    .await;
}

async fn search_often(connection: &Connection, model: &Value, condition: &Value) {
    for _ in 0..OFTEN {
        explain(connection, model, condition).await;
    }
}

async fn declare(connection: &Connection, model: &Value, paths: &[&str]) -> Value {
    let indexes: Vec<_> = paths.iter().map(|path| json!({"path": path})).collect();
    let set = json!({"model": model, "indexes": indexes});
    connection.ok("EntityModelSetIndexesRequest", set).await["indexes"].clone()
}

/// The first line of the log with a text, which may come a little later.
async fn logged(server: &Server, text: &str) -> String {
    wait::found(text, async || {
        let log = server.log.lock().expect("no panic");
        log.iter().find(|line| line.contains(text)).cloned()
    })
    .await
}

async fn measured(server: &Server, name: &str) {
    let text = Rest::new(server.admin).get("/metrics").await.text;
    assert!(text.lines().any(|line| line == name), "{name}");
}

#[tokio::test]
async fn a_path_that_is_searched_often_gets_an_index_and_loses_it_when_it_is_not() {
    let unused = format!("{}s", UNUSED.as_secs());
    let server = Server::with(&[EAGER, ("INTERLOCK_INDEX_ADAPTIVE_UNUSED", &unused)]);
    let connection = server.connect().await;
    let model = parcels(&connection, 200).await;
    let seven = equals("$.n", 7);
    let before = explain(&connection, &model, &seven).await;
    assert_eq!(
        (&before["access"], &before["visited"], &before["returned"]),
        (&json!("SCAN"), &json!(200), &json!(2))
    );
    assert_eq!(
        (&before["indexable"], &before["indexes"]),
        (&json!(["$.n"]), &json!([]))
    );
    search_often(&connection, &model, &seven).await;
    until(&connection, &model, &[adaptive("$.n")]).await;
    // Reported alike at every API, and it serves.
    let after = explain(&connection, &model, &seven).await;
    assert_eq!(
        (&after["access"], &after["visited"], &after["returned"]),
        (&json!("INDEX"), &json!(2), &json!(2))
    );
    assert_eq!(
        (&after["servedBy"], &after["indexes"]),
        (&json!(["$.n"]), &json!([adaptive("$.n")]))
    );
    let said = server
        .rest()
        .post(
            "/api/search/direct/parcel/1?explain=true",
            seven.to_string(),
        )
        .await
        .json();
    assert_eq!(
        (&said["servedBy"], &said["indexes"]),
        (&json!(["$.n"]), &json!([adaptive("$.n")]))
    );
    let line = logged(&server, "an adaptive index is made").await;
    for field in ["model=parcel", "path=$.n", "visited_in_vain="] {
        assert!(line.contains(field), "{line}");
    }
    logged(&server, "an index is ready").await;
    for line in [
        r#"interlock_adaptive_indexes_total{event="made"} 1"#,
        r#"interlock_adaptive_indexes_total{event="ready"} 1"#,
        r#"interlock_search_indexes{kind="adaptive"} 1"#,
    ] {
        measured(&server, line).await;
    }
    // What is written goes into it, and it stays for longer than it would unused.
    for _ in 0..8 {
        add(&connection, &model, 100).await;
    }
    let used_until = Instant::now() + UNUSED + Duration::from_secs(1);
    while Instant::now() < used_until {
        assert_eq!(
            explain(&connection, &model, &seven).await["access"],
            "INDEX"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(explain(&connection, &model, &seven).await["visited"], 10);
    until(&connection, &model, &[]).await;
    logged(&server, "an adaptive index is dropped").await;
    measured(
        &server,
        r#"interlock_adaptive_indexes_total{event="dropped"} 1"#,
    )
    .await;
    let again = explain(&connection, &model, &seven).await;
    assert_eq!(
        (&again["access"], &again["returned"]),
        (&json!("SCAN"), &json!(10))
    );
}

#[tokio::test]
async fn what_tells_entities_apart_gets_it_and_what_does_not_does_not() {
    let server = Server::with(&[EAGER]);
    let connection = server.connect().await;
    let model = parcels(&connection, 200).await;
    let other = locked_model(&connection, "other", json!({"n": 1})).await;
    // Half of everything, and paths that are none.
    search_often(&connection, &model, &equals("$.half", 1)).await;
    let not = group("NOT", &[equals("$.s", "s1")]);
    search_often(&connection, &model, &not).await;
    let contains =
        json!({"type": "simple", "jsonPath": "$.s", "operatorType": "CONTAINS", "value": "s1"});
    search_often(&connection, &model, &contains).await;
    let both = group("AND", &[equals("$.half", 0), equals("$.n", 8)]);
    search_often(&connection, &model, &both).await;
    until(&connection, &model, &[adaptive("$.n")]).await;
    let found = explain(&connection, &model, &both).await;
    assert_eq!(
        (&found["visited"], &found["returned"]),
        (&json!(2), &json!(2))
    );
    // Of an OR every branch gets one.
    let either = group("OR", &[equals("$.s", "s3"), equals("$.tags[*]", "t4")]);
    search_often(&connection, &model, &either).await;
    let all = ["$.n", "$.s", "$.tags"].map(adaptive);
    until(&connection, &model, &all).await;
    assert_eq!(explain(&connection, &model, &either).await["visited"], 2);
    assert_eq!(indexes(&connection, &other).await, Vec::<Value>::new());
}

#[tokio::test]
async fn deletions_by_a_condition_and_statistics_count_and_the_number_is_bounded() {
    let server = Server::with(&[EAGER, ("INTERLOCK_INDEX_ADAPTIVE_MAX", "2")]);
    let connection = server.connect().await;
    let model = parcels(&connection, 200).await;
    for n in 0..OFTEN {
        let delete = json!({"model": model, "condition": equals("$.s", format!("s{n}"))});
        connection.ok("EntityDeleteAllRequest", delete).await;
    }
    until(&connection, &model, &[adaptive("$.s")]).await;
    for _ in 0..OFTEN {
        let query = json!({"model": model, "groupBy": ["state"], "condition": equals("$.n", 7)});
        connection.ok("EntityStatsQueryRequest", query).await;
    }
    until(&connection, &model, &["$.s", "$.n"].map(adaptive)).await;
    search_often(&connection, &model, &equals("$.tags[*]", "t40")).await;
    // What is asked for later, of another model, is made.
    let other = witness(&connection).await;
    search_often(&connection, &other, &equals("$.n", 7)).await;
    until(&connection, &other, &[adaptive("$.n")]).await;
    assert_eq!(indexes(&connection, &model).await.len(), 2);
}

#[tokio::test]
async fn declared_ones_are_left_alone_and_an_adaptive_one_can_become_one() {
    let server = Server::with(&[EAGER, ("INTERLOCK_INDEX_ADAPTIVE_UNUSED", "1s")]);
    let connection = server.connect().await;
    let model = parcels(&connection, 200).await;
    search_often(&connection, &model, &equals("$.n", 7)).await;
    until(&connection, &model, &[adaptive("$.n")]).await;
    // A list without it leaves it.
    let reported = declare(&connection, &model, &["$.s"]).await;
    assert_eq!(reported[0], adaptive("$.n"));
    assert_eq!(reported[1]["path"], "$.s");
    // A list with it keeps it as it is, now declared.
    let reported = declare(&connection, &model, &["$.n"]).await;
    let declared = json!({"path": "$.n", "state": "READY", "declared": true});
    assert_eq!(reported, json!([declared]));
    // One that was used later and not declared goes.
    let other = witness(&connection).await;
    search_often(&connection, &other, &equals("$.n", 7)).await;
    until(&connection, &other, &[adaptive("$.n")]).await;
    until(&connection, &other, &[]).await;
    assert_eq!(indexes(&connection, &model).await, [declared]);
    assert_eq!(
        explain(&connection, &model, &equals("$.n", 7)).await["visited"],
        2
    );
    // A model that is deleted leaves none behind.
    connection
        .ok("EntityDeleteAllRequest", json!({"model": model}))
        .await;
    let unlock = json!({"model": model, "transition": "UNLOCK"});
    connection.ok("EntityModelTransitionRequest", unlock).await;
    connection
        .ok("EntityModelDeleteRequest", json!({"model": model}))
        .await;
    let model = parcels(&connection, 10).await;
    assert_eq!(indexes(&connection, &model).await, Vec::<Value>::new());
}

#[tokio::test]
async fn indexes_can_be_switched_off() {
    let mut server = Server::on_disk(&[EAGER]);
    let connection = server.connect().await;
    let model = parcels(&connection, 200).await;
    let (seven, named) = (equals("$.n", 7), equals("$.s", "s7"));
    search_often(&connection, &model, &seven).await;
    until(&connection, &model, &[adaptive("$.n")]).await;
    declare(&connection, &model, &["$.s"]).await;
    let declared = json!({"path": "$.s", "state": "READY", "declared": true});
    until(&connection, &model, &[adaptive("$.n"), declared.clone()]).await;
    for (setting, access) in [("off", "SCAN"), ("declared", "INDEX")] {
        server.stop().await;
        server.restart_with(&[EAGER, ("INTERLOCK_SEARCH_INDEXES", setting)]);
        let connection = server.connect().await;
        until(&connection, &model, std::slice::from_ref(&declared)).await;
        search_often(&connection, &model, &seven).await;
        // It is maintained all the same.
        add(&connection, &model, 10).await;
        for _ in 0..OFTEN {
            explain(&connection, &model, &seven).await;
            let listed = indexes(&connection, &model).await;
            assert_eq!(listed, std::slice::from_ref(&declared));
        }
        let found = explain(&connection, &model, &named).await;
        assert_eq!(found["access"], access, "{setting}");
    }
    server.stop().await;
    server.restart_with(&[EAGER]);
    let connection = server.connect().await;
    assert_eq!(
        explain(&connection, &model, &named).await["returned"],
        json!(3)
    );
    search_often(&connection, &model, &seven).await;
    until(&connection, &model, &[declared, adaptive("$.n")]).await;
}

#[tokio::test]
async fn one_that_a_crash_interrupted_is_filled_to_its_end_while_writes_go_on() {
    let mut server = Server::on_disk(&[EAGER]);
    let connection = server.connect().await;
    let model = parcels(&connection, 5_000).await;
    let seven = equals("$.n", 7);
    let mut searches = 0;
    while indexes(&connection, &model).await.is_empty() {
        explain(&connection, &model, &seven).await;
        searches += 1;
        assert!(searches < 1_000, "none is made");
    }
    server.kill();
    server.restart();
    let connection = server.connect().await;
    add(&connection, &model, 1_000).await;
    until(&connection, &model, &[adaptive("$.n")]).await;
    let found = explain(&connection, &model, &seven).await;
    assert_eq!(
        (&found["access"], &found["visited"], &found["returned"]),
        (&json!("INDEX"), &json!(60), &json!(60))
    );
}

#[tokio::test]
async fn tenants_do_not_share_them() {
    let server = Server::with(&[EAGER, ("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let ours = server.connect_as(&[("x-mock-tenant", "ours")]).await;
    let theirs = server.connect_as(&[("x-mock-tenant", "theirs")]).await;
    let model = parcels(&ours, 200).await;
    parcels(&theirs, 200).await;
    search_often(&ours, &model, &equals("$.n", 7)).await;
    until(&ours, &model, &[adaptive("$.n")]).await;
    assert_eq!(indexes(&theirs, &model).await, Vec::<Value>::new());
    let line = logged(&server, "an adaptive index is made").await;
    assert!(line.contains("tenant=ours"), "{line}");
}
