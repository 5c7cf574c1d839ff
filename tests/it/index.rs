//! Search indexes (`search.md`, `stream.md` §3): what they find is what is there, at every moment.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use interlock::{
    clock::Timestamp,
    condition::{Condition, Facts, Lifecycle},
    entity::Document,
    id::{EntityId, TransactionId},
    model::Schema,
};
use proptest::test_runner::{RngSeed, TestRunner};
use proptest::{prelude::*, strategy::ValueTree as _};
use serde_json::{Value, json};

use crate::support::{Connection, Server, code, create, locked_model};

/// Values of every kind, at every place the paths below lead to.
fn any_document() -> impl Strategy<Value = Value> {
    let scalar = || {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3..4_i64).prop_map(Value::from),
            prop::sample::select(vec![0.5, 1.5, -2.25, 1e20, 1e-7]).prop_map(Value::from),
            prop::sample::select(vec!["", "a", "ab", "abc", "b", "1", "é", "a b", "A"])
                .prop_map(Value::from),
            prop::sample::select(vec![
                "2024",
                "2024-05",
                "2024-05-03",
                "2024-05-03T10:00:00Z",
                "10:00"
            ])
            .prop_map(Value::from),
        ]
    };
    let list = || prop::collection::vec(scalar(), 0..3).prop_map(Value::from);
    let object = || prop_oneof![Just(json!({})), scalar().prop_map(|k| json!({"k": k})),];
    let lines = prop::collection::vec(object(), 0..3).prop_map(Value::from);
    let lists = prop::collection::vec(prop_oneof![scalar(), list()], 0..3).prop_map(Value::from);
    (
        prop::option::of(scalar()),
        prop::option::of(scalar()),
        prop::option::of(list()),
        prop::option::of(object()),
        prop::option::of(lines),
        prop::option::of(lists),
    )
        .prop_map(|(a, b, t, o, l, g)| {
            let members = [("a", a), ("b b", b), ("t", t), ("o", o), ("l", l), ("g", g)];
            members
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect()
        })
}

#[rustfmt::skip]
const PATHS: &[&str] = &["$.a", "$['b b']", "$.t", "$.t[*]", "$.t[0]", "$.o.k", "$.l[*].k", "$.l[1].k",
    "$.g", "$.g[0]", "$.g[*][*]", "$.g[0][1]"];

#[rustfmt::skip]
const OPERATORS: &[&str] = &[
    "EQUALS", "NOT_EQUAL", "GREATER_THAN", "GREATER_OR_EQUAL", "LESS_THAN", "LESS_OR_EQUAL", "IS_NULL",
    "NOT_NULL", "CONTAINS", "STARTS_WITH", "NOT_STARTS_WITH", "ENDS_WITH", "IEQUALS", "ISTARTS_WITH",
    "LIKE", "MATCHES_PATTERN", "BETWEEN", "BETWEEN_INCLUSIVE", "IN", "NOT_IN",
];

fn any_condition() -> impl Strategy<Value = Value> {
    let operand = || {
        prop::sample::select(vec![
            json!(0),
            json!(1),
            json!("1"),
            json!(1.5),
            json!(-2),
            json!(1e20),
            json!(true),
            json!("a"),
            json!("ab"),
            json!("a%"),
            json!(""),
            json!("b"),
            json!("2024"),
            json!("2024-05-03"),
            json!("2024-05-03T10:00:00+02:00"),
            json!("10:00"),
        ])
    };
    let leaf = (
        prop::sample::select(PATHS.to_vec()),
        prop::sample::select(OPERATORS.to_vec()),
        operand(),
        operand(),
    )
        .prop_map(|(path, operator, one, other)| {
            let value = match operator {
                "BETWEEN" | "BETWEEN_INCLUSIVE" | "IN" | "NOT_IN" => json!([one, other]),
                _ => one,
            };
            json!({"type": "simple", "jsonPath": path, "operatorType": operator, "value": value})
        });
    leaf.prop_recursive(3, 6, 3, |inner| {
        (
            prop::sample::select(vec!["AND", "OR", "NOT"]),
            prop::collection::vec(inner, 0..4),
        )
            .prop_map(|(operator, conditions)| {
                json!({"type": "group", "operator": operator, "conditions": conditions})
            })
    })
}

/// A sample from which every path has every type, so that no operand is refused.
fn sample() -> Value {
    let all = json!([
        null,
        true,
        1,
        1.5,
        1e-7,
        1e20,
        "a",
        "2024",
        "2024-05",
        "2024-05-03",
        "2024-05-03T10:00:00Z",
        "10:00"
    ]);
    let lines: Vec<_> = all
        .as_array()
        .expect("a list")
        .iter()
        .map(|k| json!({"k": k}))
        .collect();
    let mut lists = all.clone();
    lists.as_array_mut().expect("a list").push(all.clone());
    json!({"i": 1, "a": 1, "b b": 1, "t": all, "o": {"k": 1}, "l": lines, "g": lists})
}

/// A sample with each value in each place.
fn samples() -> Vec<Value> {
    let everything = sample();
    let values = everything["t"].as_array().expect("a list");
    let with = |value: &Value| {
        let mut sample = everything.clone();
        sample["a"] = value.clone();
        sample["b b"] = value.clone();
        sample["o"] = json!({"k": value});
        sample
    };
    values.iter().map(with).collect()
}

fn schema_of_everything() -> Schema {
    let infer = |sample: Value| Schema::infer(&Document::parse(&sample.to_string()).expect("JSON"));
    let samples = samples().into_iter().chain([sample()]);
    samples.map(infer).fold(Schema::default(), Schema::merge)
}

/// What the evaluator says of a whole document.
fn holds(condition: &Value, document: &Value, schema: &Schema) -> bool {
    let condition = Condition::parse(&condition.to_string()).expect("a condition");
    let document = Document::parse(&document.to_string()).expect("JSON");
    let facts = Facts {
        absent_lists_are_null: false,
        document: document.root(),
        before: None,
        schema,
        lifecycle: Lifecycle {
            id: EntityId::NIL,
            state: "",
            created: Timestamp::from_micros(0),
            updated: Timestamp::from_micros(0),
            previous_transition: "",
            transaction: TransactionId::NIL,
        },
    };
    condition.holds(facts, None)
}

async fn model_of_everything(connection: &Connection, name: &str) -> Value {
    let spec = json!({"name": name, "version": 1});
    for sample in samples() {
        connection
            .ok(
                "EntityModelImportRequest",
                json!({"model": spec, "dataFormat": "JSON", "converter": "SAMPLE_DATA", "payload": sample}),
            )
            .await;
    }
    locked_model(connection, name, sample()).await
}

pub(crate) async fn declare(connection: &Connection, model: &Value, paths: &[&str]) {
    let indexes: Vec<_> = paths.iter().map(|path| json!({"path": path})).collect();
    let set = json!({"model": model, "indexes": indexes});
    connection.ok("EntityModelSetIndexesRequest", set).await;
}

/// Waits until every index of a model finds everything.
pub(crate) async fn ready(connection: &Connection, model: &Value) -> Vec<String> {
    for _ in 0..600 {
        let export = json!({"model": model, "converter": "SIMPLE_VIEW"});
        let answer = connection.ok("EntityModelExportRequest", export).await;
        let indexes = answer["payload"]["indexes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if indexes.iter().all(|index| index["state"] == "READY") {
            return indexes
                .iter()
                .map(|index| index["path"].as_str().expect("a path").to_owned())
                .collect();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the indexes of {model} do not become ready");
}

/// The numbers of the documents that are found, or the code of the refusal.
async fn found(
    connection: &Connection,
    model: &Value,
    condition: &Value,
) -> Result<Vec<i64>, String> {
    let search = json!({"model": model, "condition": condition, "limit": 10000});
    let (entities, end) = connection.all("EntitySearchRequest", search).await;
    if end["success"] != true {
        return Err(code(&end));
    }
    let number = |entity: &Value| entity["payload"]["data"]["i"].as_i64().expect("a number");
    let mut found: Vec<_> = entities.iter().map(number).collect();
    found.sort_unstable();
    Ok(found)
}

pub(crate) async fn explain(connection: &Connection, model: &Value, condition: &Value) -> Value {
    let search = json!({"model": model, "condition": condition, "limit": 10000});
    connection.ok("EntitySearchExplainRequest", search).await
}

fn equals(path: &str, value: impl Into<Value>) -> Value {
    json!({"type": "simple", "jsonPath": path, "operatorType": "EQUALS", "value": value.into()})
}

/// `INTERLOCK_SEARCH_CONDITIONS` says how many conditions are tried, each on 100 documents.
#[expect(clippy::print_stdout, reason = "the long form tells its count")]
#[tokio::test]
async fn what_indexes_find_is_what_a_walk_over_everything_finds() {
    let conditions: usize = std::env::var("INTERLOCK_SEARCH_CONDITIONS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(150);
    let mut random = TestRunner::new(ProptestConfig {
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    });
    let mut any =
        |strategy: BoxedStrategy<Value>| strategy.new_tree(&mut random).expect("a value").current();
    // In the long form the one without indexes would get some.
    let server = Server::with(&[("INTERLOCK_SEARCH_INDEXES", "declared")]);
    let connection = server.connect().await;
    let walked = model_of_everything(&connection, "walked").await;
    let before = model_of_everything(&connection, "indexed-before").await;
    let after = model_of_everything(&connection, "indexed-after").await;
    let paths = ["$.a", "$['b b']", "$.t", "$.o.k", "$.l[*].k", "$.g"];
    declare(&connection, &before, &paths).await;
    let models = [&walked, &before, &after];
    let mut ids = Vec::new();
    for number in 0..100 {
        let mut document = any(any_document().boxed());
        document["i"] = json!(number);
        for model in models {
            ids.push(create(&connection, model, document.clone()).await);
        }
    }
    declare(&connection, &after, &paths).await;
    // While one is being filled: change and delete, so that both the filling and the writers see to it.
    for number in 0..60 {
        let mut document = any(any_document().boxed());
        document["i"] = json!(number);
        for id in &ids[3 * number..][..3] {
            if number % 5 == 0 {
                connection
                    .ok("EntityDeleteRequest", json!({"entityId": id}))
                    .await;
            } else {
                connection
                    .ok(
                        "EntityUpdateRequest",
                        json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": document, "transition": "UPDATE"}}),
                    )
                    .await;
            }
        }
    }
    assert_eq!(ready(&connection, &after).await.len(), paths.len());
    ready(&connection, &before).await;
    // As they are now, for the evaluator itself.
    let everything = json!({"type": "group", "operator": "AND", "conditions": []});
    let search = json!({"model": walked, "condition": everything, "limit": 10000});
    let (stored, _) = connection.all("EntitySearchRequest", search).await;
    let documents: Vec<Value> = stored
        .into_iter()
        .map(|entity| entity["payload"]["data"].clone())
        .collect();
    let schema = schema_of_everything();
    let (mut by_index, mut matched) = (0, 0);
    for _ in 0..conditions {
        let condition = any(any_condition().boxed());
        let expected = found(&connection, &walked, &condition).await;
        if let Ok(expected) = &expected {
            let mut judged: Vec<i64> = documents
                .iter()
                .filter(|document| holds(&condition, document, &schema))
                .filter_map(|document| document["i"].as_i64())
                .collect();
            judged.sort_unstable();
            assert_eq!(*expected, judged, "{condition}");
        }
        for model in [&before, &after] {
            assert_eq!(
                found(&connection, model, &condition).await,
                expected,
                "{condition} of {model}"
            );
        }
        if let Ok(expected) = expected {
            matched += expected.len();
            let explained = explain(&connection, &after, &condition).await;
            by_index += usize::from(explained["access"] == "INDEX");
        }
    }
    println!(
        "{} pairs, {matched} matches, {by_index} of {conditions} searches served by an index",
        conditions * 100
    );
    assert!(by_index > conditions / 5, "only {by_index} used an index");
    assert!(matched > conditions, "only {matched} matches");
}

/// Updates entities one by one until it is told to stop, in what has no index.
async fn update_until(connection: &Connection, ids: &[String], done: &AtomicBool) {
    for round in 1.. {
        for (n, id) in ids.iter().enumerate() {
            if done.load(Ordering::Relaxed) {
                return;
            }
            let data = json!({"i": n, "n": n, "x": round});
            let update = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": data, "transition": "UPDATE"}});
            connection.ok("EntityUpdateRequest", update).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_finds_what_was_changed_while_it_was_filled() {
    let server = Server::start();
    let (connection, other) = (server.connect().await, server.connect().await);
    let model = locked_model(&connection, "parcel", json!({"i": 1, "n": 1, "x": 1})).await;
    let mut ids = Vec::new();
    for n in 0..600 {
        ids.push(create(&connection, &model, json!({"i": n, "n": n, "x": 0})).await);
    }
    // What is read to be filled in is sometimes changed before it is written.
    for _ in 0..3 {
        let done = AtomicBool::new(false);
        let fill = async {
            declare(&connection, &model, &["$.n"]).await;
            ready(&connection, &model).await;
            done.store(true, Ordering::Relaxed);
        };
        tokio::join!(fill, update_until(&other, &ids, &done));
        let every =
            json!({"type": "simple", "jsonPath": "$.n", "operatorType": "LESS_THAN", "value": 600});
        assert_eq!(
            explain(&connection, &model, &every).await["access"],
            "INDEX"
        );
        let found = found(&connection, &model, &every).await.expect("found");
        assert_eq!(found, (0..600).collect::<Vec<i64>>());
        declare(&connection, &model, &[]).await;
    }
}

#[tokio::test]
async fn an_index_is_seen_to_serve() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "parcel", json!({"n": 1, "s": "x", "l": ["a"]})).await;
    let mut ids = Vec::new();
    for n in 0..50 {
        let document = json!({"n": n % 10, "s": format!("s{n}"), "l": ["a", format!("b{n}")]});
        ids.push(create(&connection, &model, document).await);
    }
    let three = equals("$.n", 3);
    let explained = explain(&connection, &model, &three).await;
    assert_eq!(explained["access"], "SCAN");
    assert_eq!(
        (&explained["visited"], &explained["returned"]),
        (&json!(50), &json!(5))
    );
    assert_eq!(explained["indexable"], json!(["$.n"]));
    declare(&connection, &model, &["n", "$.l[*]"]).await;
    assert_eq!(ready(&connection, &model).await, ["$.n", "$.l"]);
    let explained = explain(&connection, &model, &three).await;
    assert_eq!(explained["access"], "INDEX");
    assert_eq!(explained["servedBy"], json!(["$.n"]));
    assert_eq!(
        (&explained["visited"], &explained["returned"]),
        (&json!(5), &json!(5))
    );
    // The smaller of two ways is taken.
    let most =
        json!({"type": "simple", "jsonPath": "$.n", "operatorType": "LESS_THAN", "value": 9});
    let both =
        json!({"type": "group", "operator": "AND", "conditions": [most, equals("$.l[*]", "b13")]});
    let explained = explain(&connection, &model, &both).await;
    assert_eq!(explained["servedBy"], json!(["$.l"]));
    assert_eq!(explained["visited"], 1);
    // By id: what is read in parts is read once.
    let later = json!({"type": "lifecycle", "field": "id", "operatorType": "GREATER_THAN", "value": ids[29]});
    let explained = explain(&connection, &model, &later).await;
    assert_eq!(
        (&explained["visited"], &explained["returned"]),
        (&json!(20), &json!(20))
    );
    // By state, without any index.
    let state = json!({"type": "lifecycle", "field": "state", "operatorType": "EQUALS", "value": "NOWHERE"});
    let explained = explain(&connection, &model, &state).await;
    assert_eq!(
        (&explained["servedBy"], &explained["visited"]),
        (&json!(["state"]), &json!(0))
    );
    // Through REST.
    let said = server
        .rest()
        .post(
            "/api/search/direct/parcel/1?explain=true",
            equals("$.n", 3).to_string(),
        )
        .await;
    assert_eq!(said.json()["servedBy"], json!(["$.n"]));
    // One is dropped, and the search still finds what is there.
    declare(&connection, &model, &["$.l"]).await;
    assert_eq!(ready(&connection, &model).await, ["$.l"]);
    assert_eq!(
        explain(&connection, &model, &equals("$.n", 3)).await["returned"],
        5
    );
    // And made again.
    declare(&connection, &model, &["$.n"]).await;
    assert_eq!(ready(&connection, &model).await, ["$.n"]);
    assert_eq!(
        explain(&connection, &model, &equals("$.n", 3)).await["visited"],
        5
    );
}

#[tokio::test]
async fn indexes_that_cannot_be_are_refused() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "parcel", json!({"n": 1, "o": {"k": 1}})).await;
    let many: Vec<_> = (0..33)
        .map(|n| json!({"path": format!("$.n{n}")}))
        .collect();
    for (indexes, expected) in [
        (json!([{"path": "$.unknown"}]), "INVALID_FIELD_PATH"),
        (json!([{"path": "$.o"}]), "INVALID_FIELD_PATH"),
        (json!([{"path": "$.["}]), "INVALID_FIELD_PATH"),
        (json!(many), "BAD_REQUEST"),
        (json!([{}]), "BAD_REQUEST"),
        (json!({}), "BAD_REQUEST"),
    ] {
        let set = json!({"model": model, "indexes": indexes});
        let answer = connection.call("EntityModelSetIndexesRequest", set).await;
        assert_eq!(code(&answer), expected, "{indexes}");
    }
    let unknown = json!({"model": {"name": "nothing", "version": 1}, "indexes": []});
    let answer = connection
        .call("EntityModelSetIndexesRequest", unknown)
        .await;
    assert_eq!(code(&answer), "MODEL_NOT_FOUND");
}

#[tokio::test]
async fn a_field_that_is_to_be_indexed_is_added_as_the_refusal_says() {
    let server = Server::start();
    let (connection, rest) = (server.connect().await, server.rest());
    let set = json!({"indexes": [{"path": "$.new"}]}).to_string();
    let advice = async |name: &str| {
        let path = format!("/api/model/{name}/1/indexes");
        let said = rest.put(&path, set.clone()).await;
        let problem = said.refused(400, "INVALID_FIELD_PATH");
        problem["detail"].as_str().expect("text").to_owned()
    };
    let import = "/api/model/import/JSON/SAMPLE_DATA/open/1";
    rest.post(import, r#"{"n":1}"#).await.ok();
    let said = advice("open").await;
    assert!(
        said.ends_with("import a sample that has it first"),
        "{said}"
    );
    rest.lock_model("closed", r#"{"n":1}"#).await;
    let said = advice("closed").await;
    assert!(said.contains("import the next version"), "{said}");
    let level = "/api/model/closed/1/changeLevel/STRUCTURAL";
    rest.post(level, "").await.ok();
    let said = advice("closed").await;
    assert!(
        said.ends_with("store a document that has it first"),
        "{said}"
    );
    let model = json!({"name": "closed", "version": 1});
    create(&connection, &model, json!({"new": 1})).await;
    declare(&connection, &model, &["$.new"]).await;
}

#[tokio::test]
async fn a_filling_that_was_interrupted_goes_on_and_a_past_moment_is_found_as_it_was() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "parcel", json!({"i": 1, "n": 1})).await;
    let mut items = Vec::new();
    for i in 0..3_000 {
        items.push(json!({"model": model, "data": {"i": i, "n": i % 300}}));
    }
    connection
        .ok(
            "EntityCreateCollectionRequest",
            json!({"dataFormat": "JSON", "payloads": items}),
        )
        .await;
    declare(&connection, &model, &["$.n"]).await;
    server.kill();
    server.restart();
    let connection = server.connect().await;
    assert_eq!(ready(&connection, &model).await, ["$.n"]);
    let seven: Vec<i64> = (0..10).map(|k| 7 + 300 * k).collect();
    assert_eq!(
        found(&connection, &model, &equals("$.n", 7)).await,
        Ok(seven.clone())
    );
    let (all, _) = connection
        .all(
            "EntitySearchRequest",
            json!({"model": model, "condition": equals("$.n", 7), "limit": 100}),
        )
        .await;
    let then = all
        .iter()
        .filter_map(|entity| entity["payload"]["meta"]["lastUpdateTime"].as_str())
        .max()
        .expect("a time")
        .to_owned();
    let id = all[0]["payload"]["meta"]["id"].clone();
    connection
        .ok(
            "EntityUpdateRequest",
            json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"i": 7, "n": 8}, "transition": "UPDATE"}}),
        )
        .await;
    assert_eq!(
        found(&connection, &model, &equals("$.n", 7))
            .await
            .expect("found")
            .len(),
        9
    );
    assert_eq!(
        found(&connection, &model, &equals("$.n", 8))
            .await
            .expect("found")
            .len(),
        11
    );
    let past =
        json!({"model": model, "condition": equals("$.n", 7), "limit": 100, "pointInTime": then});
    let (entities, _) = connection.all("EntitySearchRequest", past.clone()).await;
    assert_eq!(entities.len(), 10);
    let explained = connection.ok("EntitySearchExplainRequest", past).await;
    assert_eq!(explained["servedBy"], json!(["$.n"]));
    assert_eq!(explained["visited"], 11 - 1);
    // A whole model leaves its indexes.
    connection
        .ok("EntityDeleteAllRequest", json!({"model": model}))
        .await;
    assert_eq!(
        explain(&connection, &model, &equals("$.n", 8)).await["visited"],
        0
    );
}

#[tokio::test]
async fn an_entity_with_very_many_values_is_found_by_each_and_costs_one_key() {
    let server = Server::start();
    let connection = server.connect().await;
    let model = locked_model(&connection, "parcel", json!({"i": 1, "l": [1]})).await;
    declare(&connection, &model, &["$.l"]).await;
    ready(&connection, &model).await;
    let many: Vec<_> = (0..100_000).collect();
    let id = create(&connection, &model, json!({"i": 1, "l": many})).await;
    create(&connection, &model, json!({"i": 2, "l": [7]})).await;
    for (value, expected) in [(7, vec![1, 2]), (99_999, vec![1]), (100_000, vec![])] {
        let condition = equals("$.l[*]", value);
        assert_eq!(found(&connection, &model, &condition).await, Ok(expected));
        let explained = explain(&connection, &model, &condition).await;
        assert_eq!(explained["servedBy"], json!(["$.l"]));
    }
    // Fewer again, and it is where its values are.
    let fewer = json!({"dataFormat": "JSON", "payload": {"entityId": id, "data": {"i": 1, "l": [8]}, "transition": "UPDATE"}});
    connection.ok("EntityUpdateRequest", fewer).await;
    let explained = explain(&connection, &model, &equals("$.l[*]", 7)).await;
    assert_eq!(
        (&explained["visited"], &explained["returned"]),
        (&json!(1), &json!(1))
    );
}
