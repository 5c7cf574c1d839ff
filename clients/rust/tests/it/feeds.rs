use std::time::Duration;

use interlock_client::{
    Changes, Client, ErrorKind, Live, Match, Member, Task,
    api::{
        ActionRegisterRequest, Condition, EntityChangeEventChange as Found,
        RunDefinitionCreateRequest, SimpleConditionOperatorType as Operator,
    },
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{PATIENCE, Server, make_parcels, parcel};

/// Creates a parcel as soon as the server can be reached.
async fn create_eventually(client: &Client, number: usize) {
    let creating = async {
        let document = json!({"sku": number.to_string(), "weight": 1.5});
        while let Err(error) = client.entities().create(parcel(), &document).await {
            assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
        }
    };
    timeout(PATIENCE, creating)
        .await
        .expect("it is created in time");
}

#[tokio::test]
async fn a_feed_over_a_restart_has_every_change_once() {
    let durable = [
        ("CYODA_STORAGE_BACKEND", "sqlite"),
        ("CYODA_SQLITE_PATH", "data.db"),
    ];
    let mut server = Server::start_with(&durable).await;
    let client = server.client("feed").await;
    make_parcels(&client, None).await;
    for number in 0..5 {
        create_eventually(&client, number).await;
    }
    let mut feed = client
        .entities()
        .follow(Changes::new().model(parcel()).after(0).with_data());
    let (mut seen, mut last) = (Vec::new(), 0);
    while seen.len() < 10 {
        let next = timeout(PATIENCE, feed.next())
            .await
            .expect("a change in time");
        let change = next.expect("a feed has no end").expect("a change");
        let sequence = change.sequence.expect("a sequence");
        assert!(sequence > last, "{sequence} came after {last}");
        last = sequence;
        let document: Value = change.data.expect("a document").decode().expect("JSON");
        seen.push(document["sku"].as_str().expect("a number").to_owned());
        if seen.len() == 5 {
            server.kill().await;
            server.restart().await;
            for number in 5..10 {
                create_eventually(&client, number).await;
            }
        }
    }
    assert_eq!(seen.join(" "), "0 1 2 3 4 5 6 7 8 9");
}

#[tokio::test]
async fn a_live_search_has_the_result_and_then_what_enters_and_leaves() {
    let server = Server::start().await;
    let client = server.client("live").await;
    make_parcels(&client, None).await;
    let entities = client.entities();
    let first = entities
        .create(parcel(), &json!({"weight": 0.5}))
        .await
        .expect("a parcel");
    entities
        .create(parcel(), &json!({"weight": 5}))
        .await
        .expect("a parcel");
    let light = Condition::field("$.weight", Operator::LessThan, 1);
    let mut found = entities.follow_search(Live::new(parcel(), light));
    let mut seen = Vec::new();
    loop {
        let next = timeout(PATIENCE, found.next())
            .await
            .expect("a match in time");
        match next.expect("a live search has no end").expect("a match") {
            Match::Entity(entity) => {
                assert_eq!(entity.id, first.entity_id);
                seen.push("matches".to_owned());
            }
            Match::Change(change) => {
                let what = change.change.expect("what it did");
                seen.push(what.to_string());
                match what {
                    Found::Complete => {
                        let created = entities.create(parcel(), &json!({"weight": 0.25})).await;
                        created.expect("a parcel");
                    }
                    Found::Entered => {
                        let updated = entities
                            .update(&first.entity_id, &json!({"weight": 7}))
                            .await;
                        updated.expect("a change");
                    }
                    _ => break,
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["matches", "complete", "entered", "left"]);
}

#[tokio::test]
async fn a_feed_ends_with_a_refusal_and_with_its_client() {
    let server = Server::start().await;
    let client = server.client("ends").await;
    let mut refused = client.entities().follow(Changes::new().after(-1));
    let error = refused
        .next()
        .await
        .expect("a failure")
        .expect_err("a failure");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(refused.next().await.is_none());
    let mut feed = client.entities().follow(Changes::new());
    let silent = timeout(Duration::from_millis(50), feed.next()).await;
    assert!(silent.is_err(), "nothing changes");
    client.close().await;
    let ended = timeout(PATIENCE, feed.next())
        .await
        .expect("it ends in time");
    ended.expect("a failure").expect_err("the client is closed");
}

#[tokio::test]
async fn the_history_of_a_run_ends_with_the_run() {
    let server = Server::start().await;
    let charging = Member::new(server.tenant("history"));
    let member = charging
        .action("charge", async |_: Task| Ok(()))
        .join()
        .await
        .expect("it joins");
    let client = member.client();
    let registered = client
        .action_register(&ActionRegisterRequest::new("charge"))
        .await;
    registered.expect("an action");
    let document = json!({
        "kind": "Workflow", "name": "orders", "version": "1.0.0", "start": {
            "run": "@actions/charge",
            "transitions": {"success": "flo.Completed", "failure": "flo.Failed"},
        },
    });
    let defined = client
        .run_definition_create(&RunDefinitionCreateRequest::new(document))
        .await;
    defined.expect("a definition");
    let started = client
        .runs()
        .start("orders", &json!({}))
        .await
        .expect("a run");
    let run = started.run_id.expect("its id");
    let mut history = client.runs().follow(&run, 0);
    let mut last = 0;
    while let Some(event) = timeout(PATIENCE, history.next())
        .await
        .expect("it ends in time")
    {
        let sequence = event.expect("an event").sequence.expect("a sequence");
        assert_eq!(sequence, last + 1);
        last = sequence;
    }
    assert!(last > 0, "the history is empty");
    let rest = client
        .runs()
        .follow(&run, last)
        .all()
        .await
        .expect("the rest");
    assert!(rest.is_empty(), "{rest:?}");
}
