//! Topics: published to and read, through REST and as events (`runs.md` §5).

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{
    Connection, Member, PATIENCE, Reply, Server, code, create, governed_model, new_entity,
    processed_by, sync_processor,
};

async fn publish(connection: &Connection, topic: &str, events: Value) -> Value {
    let payload = json!({"topic": topic, "events": events});
    let published = connection.ok("TopicPublishRequest", payload).await;
    published["sequences"].clone()
}

async fn read(connection: &Connection, topic: &str, after: i64) -> Value {
    let payload = json!({"topic": topic, "fromSequence": after});
    connection.ok("TopicGetRequest", payload).await
}

#[tokio::test]
async fn events_are_read_as_they_were_published_and_outlive_a_restart() {
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let missing = json!({"topic": "orders"});
    let missing = connection.fails("TopicGetRequest", missing).await;
    assert_eq!(missing, "TOPIC_NOT_FOUND");
    let events = json!([
        {"payload": {"n": 1}, "type": "order.created", "key": "ann", "id": "e-1"},
        {"payload": null},
    ]);
    assert_eq!(publish(&connection, "orders", events).await, json!([1, 2]));
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let third = publish(&connection, "orders", json!([{"payload": "text"}])).await;
    assert_eq!(third, json!([3]));
    let mut part = read(&connection, "orders", 0).await;
    assert_eq!((&part["first"], &part["last"]), (&json!(1), &json!(3)));
    for item in part["items"].as_array_mut().expect("a list") {
        let time = item.as_object_mut().expect("an object").remove("time");
        assert!(time.is_some_and(|time| time.as_str().is_some_and(|time| time.ends_with('Z'))));
    }
    assert_eq!(
        part["items"],
        json!([
            {"sequence": 1, "payload": {"n": 1}, "type": "order.created", "key": "ann", "id": "e-1"},
            {"sequence": 2, "payload": null},
            {"sequence": 3, "payload": "text"},
        ])
    );
    let rest = read(&connection, "orders", 2).await;
    assert_eq!(rest["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(read(&connection, "orders", 9).await["items"], json!([]));
}

#[tokio::test]
async fn a_repeated_id_is_answered_with_its_first_sequence() {
    let server = Server::start();
    let connection = server.connect().await;
    let of = |ids: &[&str]| {
        ids.iter()
            .map(|id| json!({"payload": 1, "id": id}))
            .collect()
    };
    assert_eq!(
        publish(&connection, "t", of(&["a", "b", "a"])).await,
        json!([1, 2, 1])
    );
    assert_eq!(
        publish(&connection, "t", of(&["c", "b"])).await,
        json!([3, 2])
    );
    assert_eq!(publish(&connection, "u", of(&["b"])).await, json!([1]));
    assert_eq!(read(&connection, "t", 0).await["last"], 3);
}

#[tokio::test]
async fn what_is_out_of_bounds_is_refused_and_nothing_is_published() {
    let server = Server::start();
    let connection = server.connect().await;
    let one = json!({"payload": 1});
    let long = "x".repeat(257);
    for (topic, events) in [
        ("t", json!([])),
        ("t", json!(vec![one.clone(); 1_001])),
        ("", json!([one])),
        (&*long, json!([one])),
        ("t", json!([one, {"payload": 1, "id": ""}])),
        ("t", json!([{"payload": 1, "key": long}])),
        ("t", json!([{"payload": 1, "type": long}])),
        ("t", json!([{"payload": "x".repeat(1 << 20)}])),
    ] {
        let payload = json!({"topic": topic, "events": events});
        let failed = connection.fails("TopicPublishRequest", payload).await;
        assert_eq!(failed, "BAD_REQUEST");
    }
    let payload = json!({"topic": "t", "events": [one], "namespace": "a b"});
    let failed = connection.fails("TopicPublishRequest", payload).await;
    assert_eq!(failed, "BAD_REQUEST");
    let none = connection.ok("TopicsGetRequest", json!({})).await;
    assert_eq!(none["items"], json!([]));
    let thousand = publish(&connection, "t", json!(vec![one; 1_000])).await;
    assert_eq!(thousand.as_array().map(Vec::len), Some(1_000));
    for payload in [
        json!({"topic": "t", "limit": 0}),
        json!({"topic": "t", "fromSequence": -1}),
    ] {
        let failed = connection.fails("TopicGetRequest", payload).await;
        assert_eq!(failed, "BAD_REQUEST");
    }
}

#[tokio::test]
async fn publishers_at_once_get_sequences_without_gaps() {
    let server = Server::start();
    let connection = server.connect().await;
    let publishing = (0..50).map(|_| publish(&connection, "t", json!([{"payload": 1}])));
    let all = futures_util::future::join_all(publishing).await;
    let mut given: Vec<_> = all
        .iter()
        .map(|sequences| sequences[0].as_i64().expect("a number"))
        .collect();
    given.sort_unstable();
    assert_eq!(given, (1..=50).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_publication_with_an_idempotency_key_is_done_once() {
    let server = Server::start();
    let connection = server.connect().await;
    let once = async |topic: &str, key: &str| {
        let payload = json!({"topic": topic, "events": [{"payload": 1}, {"payload": 2}]});
        let with = [("idempotencykey", key)];
        let answer = connection
            .call_with("TopicPublishRequest", payload, &with)
            .await;
        answer["sequences"].clone()
    };
    for _ in 0..2 {
        assert_eq!(once("t", "k").await, json!([1, 2]));
    }
    assert_eq!(once("t", "l").await, json!([3, 4]));
    // Others publish meanwhile; each key is done once all the same.
    let keys: Vec<_> = (0..20).map(|n| format!("n{n}")).collect();
    let all = futures_util::future::join_all(keys.iter().map(|key| once("busy", key))).await;
    let mut given: Vec<_> = all
        .iter()
        .map(|sequences| sequences[0].as_i64().expect("a number"))
        .collect();
    given.sort_unstable();
    assert_eq!(given, (0..20).map(|n| 2 * n + 1).collect::<Vec<_>>());
}

#[tokio::test]
async fn topics_are_listed_by_name_in_pages_of_their_namespace() {
    let server = Server::start();
    let connection = server.connect().await;
    for topic in ["c", "a", "b"] {
        publish(&connection, topic, json!([{"payload": 1}])).await;
    }
    let other =
        json!({"topic": "a", "namespace": "other", "events": [{"payload": 1}, {"payload": 2}]});
    connection.ok("TopicPublishRequest", other).await;
    let first = connection.ok("TopicsGetRequest", json!({"limit": 2})).await;
    assert_eq!(
        first["items"],
        json!([{"topic": "a", "first": 1, "last": 1}, {"topic": "b", "first": 1, "last": 1}])
    );
    assert_eq!(first["pagination"]["hasNext"], true);
    let next = json!({"limit": 2, "cursor": first["pagination"]["nextCursor"]});
    let next = connection.ok("TopicsGetRequest", next).await;
    assert_eq!(next["items"][0]["topic"], "c");
    assert_eq!(next["pagination"], json!({"hasNext": false}));
    let other = connection
        .ok("TopicsGetRequest", json!({"namespace": "other"}))
        .await;
    assert_eq!(
        other["items"],
        json!([{"topic": "a", "first": 1, "last": 2}])
    );
}

#[tokio::test]
async fn events_of_a_transaction_are_published_when_and_only_if_it_commits() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"fail": true}), workflow).await;
    member.serve(move |call, connection| async move {
        let with = [("cyodatxtoken", call.token())];
        let fails = call.data()["fail"] == true;
        let payload = json!({"topic": "t", "events": [{"payload": {"fails": fails}}]});
        let answer = connection
            .call_with("TopicPublishRequest", payload, &with)
            .await;
        assert_eq!(answer["success"], true, "{answer}");
        assert_eq!(answer["sequences"], json!([]), "given at the commit");
        if fails {
            Reply::Failure("no")
        } else {
            Reply::Nothing
        }
    });
    let failing = new_entity(&model, &json!({"fail": true}));
    let refused = connection.call("EntityCreateRequest", failing).await;
    assert_eq!(code(&refused), "WORKFLOW_FAILED");
    let missing = connection
        .fails("TopicGetRequest", json!({"topic": "t"}))
        .await;
    assert_eq!(missing, "TOPIC_NOT_FOUND");
    create(&connection, &model, json!({"fail": false})).await;
    let part = read(&connection, "t", 0).await;
    assert_eq!(part["items"][0]["payload"], json!({"fails": false}));
    assert_eq!(part["last"], 1);
}

#[tokio::test]
async fn rest_publishes_and_reads_by_path() {
    let server = Server::start();
    let rest = server.rest();
    let body = r#"{"topic": "not this", "events": [{"payload": {"n": 1.50}, "type": "made"}]}"#;
    let published = rest.post("/api/topics/orders?namespace=n", body).await.ok();
    assert_eq!(published, json!({"sequences": [1]}));
    let part = rest
        .get("/api/topics/orders?namespace=n&fromSequence=0&limit=5")
        .await;
    assert!(
        part.text.contains(r#""payload":{"n":1.50},"type":"made""#),
        "{}",
        part.text
    );
    let listed = rest.get("/api/topics?namespace=n").await.ok();
    assert_eq!(
        listed["items"],
        json!([{"topic": "orders", "first": 1, "last": 1}])
    );
    let missing = rest
        .get("/api/topics/orders")
        .await
        .refused(404, "TOPIC_NOT_FOUND");
    assert_eq!(missing["properties"]["topic"], "orders");
    rest.post("/api/topics/orders", "{}")
        .await
        .refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn old_events_are_removed_and_their_sequences_are_not_given_again() {
    let mut server = Server::on_disk(&[("INTERLOCK_TOPICS_RETENTION", "300ms")]);
    let connection = server.connect().await;
    let events = json!(vec![json!({"payload": 1}); 1_000]);
    for _ in 0..3 {
        publish(&connection, "t", events.clone()).await;
    }
    let begun = Instant::now();
    loop {
        let part = read(&connection, "t", 0).await;
        assert_eq!(part["last"], 3_000);
        if part["first"] == 3_001 {
            assert_eq!(part["items"], json!([]));
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", part["first"]);
    }
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let next = publish(&connection, "t", json!([{"payload": 1}])).await;
    assert_eq!(next, json!([3_001]));
}
