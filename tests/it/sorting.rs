//! Sorting by an indexed field (`search.md` §7): the walk over the index tells what sorting
//! everything does.

use proptest::test_runner::{RngSeed, TestRunner};
use proptest::{prelude::*, strategy::ValueTree as _};
use serde_json::{Value, json};

use crate::index::{declare, explain, ready};
use crate::support::{
    Connection, Member, Reply, Server, create, governed_model, locked_model, new_entity,
    processed_by, sync_processor,
};

const INDEXED: [&str; 4] = ["$.number", "$.text", "$.truth", "$.o.day"];

/// Fields of one kind each, often equal, often long or absent.
fn any_document() -> impl Strategy<Value = Value> {
    let long = |end: &str| format!("{}{end}", "long ".repeat(40));
    let number = prop_oneof![
        (-3..4_i64).prop_map(Value::from),
        prop::sample::select(vec![
            "1e30",
            "-0.5",
            "2.50",
            "12345678901234567890123456789012345678901234567.5",
            "12345678901234567890123456789012345678901234567.4",
            "1e-300"
        ])
        .prop_map(|number| serde_json::from_str(number).expect("a number")),
        Just(Value::Null),
    ];
    let text = prop::sample::select(vec![
        json!(""),
        json!("a"),
        json!("ab"),
        json!("b"),
        json!("é"),
        json!(long("b")),
        json!(long("a")),
        json!(long("")),
        Value::Null,
    ]);
    let day = prop::sample::select(vec![
        json!("2024-05-03T10:00:00Z"),
        json!("2024-05-03T10:00:00+02:00"),
        json!("2023-01-01T00:00:00Z"),
        Value::Null,
    ]);
    (
        prop::option::of(number),
        prop::option::of(text),
        prop::option::of(any::<bool>()),
        prop::option::of(day),
        0..5_i64,
    )
        .prop_map(|(number, text, truth, day, kind)| {
            let mut document = json!({"kind": kind});
            if let Some(number) = number {
                document["number"] = number;
            }
            if let Some(text) = text {
                document["text"] = text;
            }
            if let Some(truth) = truth {
                document["truth"] = truth.into();
            }
            if let Some(day) = day {
                document["o"] = json!({"day": day});
            }
            document
        })
}

fn any_condition() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"type": "group", "operator": "AND", "conditions": []}),
        json!({"type": "simple", "jsonPath": "$.kind", "operatorType": "LESS_THAN", "value": 2}),
        json!({"type": "simple", "jsonPath": "$.number", "operatorType": "GREATER_THAN", "value": 0}),
        json!({"type": "simple", "jsonPath": "$.number", "operatorType": "IS_NULL", "value": 0}),
        json!({"type": "simple", "jsonPath": "$.number", "operatorType": "IN", "value": [3, 1, -2]}),
        json!({"type": "simple", "jsonPath": "$.text", "operatorType": "STARTS_WITH", "value": "long"}),
        json!({"type": "simple", "jsonPath": "$.text", "operatorType": "NOT_NULL", "value": 0}),
        json!({"type": "simple", "jsonPath": "$.o.day", "operatorType": "GREATER_OR_EQUAL", "value": "2024-05-03T08:00:00Z"}),
        json!({"type": "group", "operator": "AND", "conditions": [
            {"type": "simple", "jsonPath": "$.number", "operatorType": "LESS_OR_EQUAL", "value": 2},
            {"type": "simple", "jsonPath": "$.kind", "operatorType": "NOT_EQUAL", "value": 1}]}),
        json!({"type": "group", "operator": "OR", "conditions": [
            {"type": "simple", "jsonPath": "$.number", "operatorType": "EQUALS", "value": 2},
            {"type": "simple", "jsonPath": "$.truth", "operatorType": "EQUALS", "value": true}]}),
    ])
}

fn any_order() -> impl Strategy<Value = Value> {
    let key = (
        prop::sample::select(vec!["number", "text", "truth", "o.day", "kind"]),
        any::<bool>(),
    );
    prop::collection::btree_map(0..4_u8, key, 1..3).prop_map(|keys| {
        let mut named: Vec<Value> = Vec::new();
        for (path, desc) in keys.into_values() {
            if named.iter().all(|key| key["path"] != path) {
                named.push(json!({"path": path, "desc": desc}));
            }
        }
        named.into()
    })
}

async fn numbers(connection: &Connection, search: Value) -> Vec<Value> {
    let (entities, end) = connection.all("EntitySearchRequest", search).await;
    assert_eq!(end["success"], true, "{end}");
    entities
        .iter()
        .map(|entity| entity["payload"]["data"]["i"].clone())
        .collect()
}

async fn model_of(connection: &Connection, name: &str) -> Value {
    let sample = json!({"i": 1, "kind": 1, "number": 1.5, "text": "x", "truth": true, "o": {"day": "2024-05-03T10:00:00Z"}});
    let spec = json!({"name": name, "version": 1});
    for number in [
        "1e30",
        "12345678901234567890123456789012345678901234567.5",
        "1e-300",
    ] {
        let mut sample = sample.clone();
        sample["number"] = serde_json::from_str(number).expect("a number");
        connection
            .ok(
                "EntityModelImportRequest",
                json!({"model": spec, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": sample}),
            )
            .await;
    }
    locked_model(connection, name, sample).await
}

/// `INTERLOCK_SEARCH_CONDITIONS` says how many questions are asked.
#[tokio::test]
async fn a_walk_over_an_index_sorts_as_sorting_does() {
    let questions: usize = std::env::var("INTERLOCK_SEARCH_CONDITIONS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(150);
    let mut random = TestRunner::new(ProptestConfig {
        rng_seed: RngSeed::Fixed(11),
        ..ProptestConfig::default()
    });
    let server = Server::start();
    let connection = server.connect().await;
    let walked = model_of(&connection, "walked").await;
    let indexed = model_of(&connection, "indexed").await;
    declare(&connection, &indexed, &INDEXED).await;
    let mut ids = Vec::new();
    for i in 0..120 {
        let mut document = any_document()
            .new_tree(&mut random)
            .expect("a value")
            .current();
        document["i"] = json!(i);
        for model in [&walked, &indexed] {
            ids.push(create(&connection, model, document.clone()).await);
        }
    }
    ready(&connection, &indexed).await;
    let at = json!({"entityId": ids[ids.len() - 1]});
    let last = connection.ok("EntityGetRequest", at).await;
    let then = last["payload"]["meta"]["lastUpdateTime"].clone();
    // What happens later moves half of it away from where it was then.
    for i in (0..120).step_by(2) {
        let mut document = any_document()
            .new_tree(&mut random)
            .expect("a value")
            .current();
        document["i"] = json!(i);
        for id in &ids[2 * i..2 * i + 2] {
            if i % 10 == 0 {
                connection
                    .ok("EntityDeleteRequest", json!({"entityId": id}))
                    .await;
            } else {
                let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": document, "transition": "UPDATE"}});
                connection.ok("EntityUpdateRequest", update).await;
            }
        }
    }
    let mut by_walk = 0;
    for question in 0..questions {
        let condition = any_condition()
            .new_tree(&mut random)
            .expect("a value")
            .current();
        let order = any_order()
            .new_tree(&mut random)
            .expect("a value")
            .current();
        let limit = [1, 2, 7, 30, 200][question % 5];
        let mut search = json!({"condition": condition, "orderBy": order, "limit": limit});
        if question % 3 == 0 {
            search["pointInTime"] = then.clone();
        }
        let of = |model: &Value| {
            let mut search = search.clone();
            search["model"] = model.clone();
            search
        };
        assert_eq!(
            numbers(&connection, of(&indexed)).await,
            numbers(&connection, of(&walked)).await,
            "{search}"
        );
        let explained = connection
            .ok("EntitySearchExplainRequest", of(&indexed))
            .await;
        let first = format!("$.{}", order[0]["path"].as_str().expect("a path"));
        by_walk += usize::from(explained["servedBy"] == json!([first]));
    }
    // Of few entities, a large limit reads all.
    assert!(by_walk > questions / 6, "only {by_walk} walked an index");
}

#[tokio::test]
async fn the_first_few_are_found_without_reading_the_rest() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "parcel", json!({"i": 1, "n": 1})).await;
    let items: Vec<_> = (0..3_000)
        .map(|i| json!({"model": model, "data": {"i": i, "n": i * 7 % 3_000}}))
        .collect();
    connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": items}),
        )
        .await;
    declare(&connection, &model, &["$.n"]).await;
    ready(&connection, &model).await;
    let everything = json!({"type": "group", "operator": "AND", "conditions": []});
    let above = json!({"type": "simple", "jsonPath": "$.n", "operatorType": "GREATER_OR_EQUAL", "value": 1_400});
    for (condition, desc, first) in [
        (&everything, false, 0),
        (&everything, true, 2_999),
        (&above, false, 1_400),
    ] {
        let search = json!({"model": model, "condition": condition, "orderBy": [{"path": "n", "desc": desc}], "limit": 5});
        let (entities, _) = connection.all("EntitySearchRequest", search.clone()).await;
        let found: Vec<_> = entities
            .iter()
            .map(|entity| entity["payload"]["data"]["n"].as_i64())
            .collect();
        let expected: Vec<_> = (0..5)
            .map(|k| Some(if desc { first - k } else { first + k }))
            .collect();
        assert_eq!(found, expected);
        let explained = connection.ok("EntitySearchExplainRequest", search).await;
        assert_eq!(explained["servedBy"], json!(["$.n"]));
        assert!(explained["visited"].as_u64() < Some(20), "{explained}");
    }
    // Without a limit that cuts off, what comes first does not say how many there are.
    let search = json!({"model": model, "condition": everything, "orderBy": [{"path": "n"}], "limit": 5, "limitExceeded": "FAIL"});
    let (events, _) = connection.all("EntitySearchRequest", search).await;
    assert_eq!(crate::support::code(&events[0]), "SEARCH_RESULT_LIMIT");
    assert_eq!(
        explain(&connection, &model, &everything).await["returned"],
        3_000
    );
}

#[tokio::test]
async fn a_walk_over_large_documents_goes_on_where_a_part_ends() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "large", json!({"n": 1, "text": "x"})).await;
    declare(&connection, &model, &["$.n"]).await;
    // Three of them are more than is read at once, and every value is there twice.
    for n in 0..12 {
        let text = "é".repeat(450_000);
        create(&connection, &model, json!({"n": n % 6, "text": text})).await;
    }
    ready(&connection, &model).await;
    for (desc, expected) in [
        (false, [0, 0, 1, 1, 2, 2, 3]),
        (true, [5, 5, 4, 4, 3, 3, 2]),
    ] {
        let search = json!({"model": model, "condition": {"type": "group", "operator": "AND", "conditions": []}, "orderBy": [{"path": "n", "desc": desc}], "limit": 7});
        let (entities, _) = connection.all("EntitySearchRequest", search.clone()).await;
        let found: Vec<_> = entities
            .iter()
            .map(|entity| entity["payload"]["data"]["n"].as_i64())
            .collect();
        assert_eq!(found, expected.map(Some));
        let explained = connection.ok("EntitySearchExplainRequest", search).await;
        assert_eq!(explained["servedBy"], json!(["$.n"]));
        assert_eq!(explained["visited"], 8);
    }
}

#[tokio::test]
async fn a_transaction_sorts_what_it_sees() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "parcel", json!({"n": 1})).await;
    declare(&connection, &model, &["$.n"]).await;
    let mut ids = Vec::new();
    for n in 0..8 {
        ids.push(create(&connection, &model, json!({"n": n})).await);
    }
    ready(&connection, &model).await;
    let member = Member::join(&server, &[]).await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let processed = governed_model(&connection, "processed", json!({"n": 1}), workflow).await;
    let others = std::sync::Arc::new(server.connect().await);
    let (seen, known) = (model.clone(), ids.clone());
    member.serve(move |call, connection| {
        let (model, ids, others) = (seen.clone(), known.clone(), others.clone());
        async move {
            let token = call.token().to_owned();
            let attributes = [("cyodatxtoken", token.as_str())];
            let joined = async |kind: &str, payload: Value| {
                connection.call_with(kind, payload, &attributes).await
            };
            let save = |id: &String, n: i64| json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"n": n}}});
            joined("EntityCreateRequest", new_entity(&model, &json!({"n": 100}))).await;
            joined("EntityUpdateRequest", save(&ids[0], 101)).await;
            joined("EntityDeleteRequest", json!({"entityId": ids[1]})).await;
            // What happens elsewhere since then is not seen.
            others.ok("EntityUpdateRequest", save(&ids[2], 200)).await;
            others.ok("EntityDeleteRequest", json!({"entityId": ids[3]})).await;
            create(&others, &model, json!({"n": -5})).await;
            for (desc, condition, expected) in [
                (true, None, json!([101, 100, 7, 6])),
                (false, None, json!([2, 3, 4, 5])),
                (true, Some(6), json!([5, 4, 3, 2])),
                (false, Some(3), json!([2])),
            ] {
                let condition = condition.map_or_else(
                    || json!({"type": "group", "operator": "AND", "conditions": []}),
                    |below| json!({"type": "simple", "jsonPath": "$.n", "operatorType": "LESS_THAN", "value": below}),
                );
                let search = json!({"model": model, "condition": condition, "orderBy": [{"path": "n", "desc": desc}], "limit": 4});
                let entities = connection
                    .all_with("EntitySearchRequest", search, &attributes)
                    .await;
                let found: Vec<_> = entities
                    .iter()
                    .map(|entity| entity["payload"]["data"]["n"].clone())
                    .collect();
                assert_eq!(json!(found), expected, "{desc}");
            }
            Reply::Data(json!({"n": 1}))
        }
    });
    create(&connection, &processed, json!({"n": 1})).await;
}

/// What processors write is not checked against the model, so a field may have a list in some
/// entities. They come last, once, as those without a value do.
#[tokio::test]
async fn an_entity_whose_value_became_a_list_has_one_place_in_the_order() {
    let server = Server::with(&[("INTERLOCK_SEARCH_INDEXES", "declared")]);
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    member.serve(|call, _| async move {
        let mut data = call.data().clone();
        let raw = data["raw"].as_str().expect("a text");
        data["n"] = serde_json::from_str(raw).expect("JSON");
        Reply::Data(data)
    });
    let sample = json!({"i": 1, "raw": "x", "n": 1});
    let workflow = || processed_by(json!([sync_processor("p", json!({}))]));
    let sorted = governed_model(&connection, "sorted", sample.clone(), workflow()).await;
    let walked = governed_model(&connection, "walked", sample, workflow()).await;
    declare(&connection, &walked, &["$.n"]).await;
    let long = json!((0..1_500).collect::<Vec<_>>()).to_string();
    let raws = [
        "1",
        "[]",
        "2",
        "[4,0]",
        "null",
        "3",
        "[[5]]",
        "[null]",
        "{}",
        long.as_str(),
        "2",
        "\"x\"",
        "5",
    ];
    let data = |i: usize, raw: &str| json!({"i": i, "raw": raw});
    let mut ids = Vec::new();
    for (i, raw) in raws.into_iter().enumerate() {
        for model in [&sorted, &walked] {
            ids.push(create(&connection, model, data(i, raw)).await);
        }
    }
    ready(&connection, &walked).await;
    let last = json!({"entityId": ids[ids.len() - 1]});
    let last = connection.ok("EntityGetRequest", last).await;
    let then = &last["payload"]["meta"]["lastUpdateTime"];
    // What is a list changes places with what is none.
    for (at, id) in ids.iter().enumerate().take(8) {
        let (i, raw) = (at / 2, raws[(at / 2 + 1) % 4]);
        let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": data(i, raw), "transition": "AGAIN"}});
        connection.ok("EntityUpdateRequest", update).await;
    }
    let conditions = [
        json!({"type": "group", "operator": "AND", "conditions": []}),
        json!({"type": "simple", "jsonPath": "$.n", "operatorType": "LESS_THAN", "value": 5}),
        json!({"type": "simple", "jsonPath": "$.n", "operatorType": "IS_NULL"}),
    ];
    for (condition, desc, limit) in conditions
        .iter()
        .flat_map(|condition| [(condition, false), (condition, true)])
        .flat_map(|(condition, desc)| [1, 2, 3, 6, 8, 40].map(|limit| (condition, desc, limit)))
    {
        for point in [None, Some(then)] {
            let of = |model: &Value| {
                let mut search = json!({"model": model, "condition": condition, "orderBy": [{"path": "n", "desc": desc}], "limit": limit});
                if let Some(point) = point {
                    search["pointInTime"] = point.clone();
                }
                search
            };
            assert_eq!(
                numbers(&connection, of(&walked)).await,
                numbers(&connection, of(&sorted)).await,
                "{}",
                of(&walked)
            );
        }
    }
    let first = json!({"model": walked, "condition": conditions[0], "orderBy": [{"path": "n"}], "limit": 2});
    let explained = connection.ok("EntitySearchExplainRequest", first).await;
    assert_eq!(explained["servedBy"], json!(["$.n"]), "{explained}");
}
