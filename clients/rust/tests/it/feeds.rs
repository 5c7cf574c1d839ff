use std::{
    collections::VecDeque,
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use interlock_client::{
    AllRuns, Answers, Changes, Client, ClientCredentials, ConnectOptions, Error, ErrorKind, Live,
    Match, Member, Result, Task, TokenSource,
    api::{
        AccountGetRequest, ActionRegisterRequest, ClientCreateRequest, ClientDeleteRequest,
        Condition, EntityChangeEventChange as Found, RunDefinitionCreateRequest,
        SimpleConditionOperatorType as Operator, TaskAwaitRequest, WorkerRegisterRequest,
    },
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

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

/// Has the tokens of the first of some clients; of the next one when that is refused, and so on.
struct Successors(Mutex<VecDeque<Arc<ClientCredentials>>>);

impl Successors {
    fn first(&self) -> Arc<ClientCredentials> {
        let clients = self.0.lock().expect("no panic");
        Arc::clone(clients.front().expect("one more client"))
    }
}

impl TokenSource for Successors {
    fn token(&self) -> BoxFuture<'_, Result<String>> {
        Box::pin(async { self.first().token().await })
    }

    fn forget<'a>(&'a self, token: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            if self.token().await.is_ok_and(|known| known == token) {
                self.0.lock().expect("no panic").pop_front();
            }
            true
        })
    }
}

#[tokio::test]
async fn a_feed_of_a_server_that_is_not_there_fails() {
    let alone = ConnectOptions::new("127.0.0.1:1").connect_timeout(Duration::from_millis(200));
    let client = Client::new(alone).expect("a client");
    let (entities, runs) = (client.entities(), client.runs());
    let all = Condition::all();
    let live = Live::new(parcel(), all).after(0);
    let failures = [
        failure_of(entities.follow(Changes::new().after(0))).await,
        failure_of(entities.follow(Changes::new())).await,
        failure_of(entities.follow_search(live)).await,
        failure_of(runs.follow("run-1", 0)).await,
        failure_of(runs.follow_all(AllRuns::new().after(0))).await,
        failure_of(runs.follow_all(AllRuns::new())).await,
    ];
    for failure in failures {
        assert_eq!(failure.kind(), ErrorKind::ConnectionLost, "{failure}");
        assert!(failure.is_retryable(), "{failure}");
    }
}

/// The failure that a feed begins with.
async fn failure_of<T: Debug + Send + 'static>(mut feed: Answers<T>) -> Error {
    let first = timeout(PATIENCE, feed.next()).await.expect("it ends");
    first.expect("a failure").expect_err("there is no server")
}

#[tokio::test]
async fn when_tokens_are_revoked_feeds_go_on_and_what_waits_is_a_lost_connection() {
    let key = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/keys/signing.pem");
    let server = Server::start_with(&[
        ("CYODA_IAM_MODE", "jwt"),
        ("INTERLOCK_IAM_MOCK_CALLER", "false"),
        ("CYODA_JWT_SIGNING_KEY_FILE", key),
        ("CYODA_BOOTSTRAP_CLIENT_ID", "first"),
        ("CYODA_BOOTSTRAP_CLIENT_SECRET", "secret"),
        (
            "CYODA_BOOTSTRAP_TENANT_ID",
            "6b1f0c3e-2a5d-4c7e-9b8a-0d1e2f3a4b5c",
        ),
    ])
    .await;
    let url = format!("{}/api/oauth/token", server.http);
    let options = ConnectOptions::new(&server.target);
    let first = ClientCredentials::new(&url, "first", "secret");
    let admin = Client::connect(options.clone().token_source(first)).await;
    let admin = admin.expect("it connects");
    let (mut ids, mut clients) = (Vec::new(), VecDeque::new());
    for _ in 0..4 {
        let made = admin.client_create(&ClientCreateRequest::new()).await;
        let made = made.expect("a client");
        let (id, secret) = (made.client_id.expect("an id"), made.client_secret);
        let secret = secret.expect("a secret");
        clients.push_back(Arc::new(ClientCredentials::new(&url, &id, secret)));
        ids.push(id);
    }
    make_parcels(&admin, None).await;
    create_eventually(&admin, 0).await;
    let source = Successors(Mutex::new(clients));
    let client = Client::connect(options.token_source(source)).await;
    let client = client.expect("it connects");
    let mut feed = client.entities().follow(Changes::new().after(0));
    let mut seen = Vec::new();
    for revoked in ids.iter().take(3) {
        let next = timeout(PATIENCE, feed.next())
            .await
            .expect("a change in time");
        let change = next.expect("a feed has no end").expect("a change");
        seen.push(change.sequence.expect("a sequence"));
        if seen.len() < 3 {
            let deleted = admin
                .client_delete(&ClientDeleteRequest::new(revoked))
                .await;
            deleted.expect("a deletion");
            create_eventually(&admin, seen.len()).await;
        }
    }
    assert!(seen.is_sorted_by(|one, next| one < next), "{seen:?}");
    let registered = client
        .worker_register(&WorkerRegisterRequest::new(["a"], "w"))
        .await;
    registered.expect("a worker");
    let awaited = TaskAwaitRequest::new(["a"], "w");
    let (lost, ()) = tokio::join!(client.task_await(&awaited), async {
        sleep(Duration::from_millis(300)).await; // by then it was sent
        let deleted = admin
            .client_delete(&ClientDeleteRequest::new(&ids[2]))
            .await;
        deleted.expect("a deletion");
    });
    let lost = lost.expect_err("its stream has ended");
    assert_eq!(lost.kind(), ErrorKind::ConnectionLost, "{lost}");
    assert!(!lost.is_retryable(), "{lost}");
    let account = client.account_get(&AccountGetRequest::new()).await;
    account.expect("an account");
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
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
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
