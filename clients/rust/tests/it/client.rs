use std::time::{Duration, Instant};

use futures_util::future::join_all;
use interlock_client::{
    Client, Code, ConnectOptions, ErrorKind, Json, Member,
    api::{
        AccountGetRequest, Condition, DataFormat, EntityCreateCollectionRequest,
        EntitySearchRequest, NewEntity, RunDefinitionCreateRequest,
    },
};
use serde_json::{Value, json};

use crate::support::{Server, make_parcels, parcel};

#[tokio::test]
async fn a_document_keeps_its_digits() {
    let server = Server::start().await;
    let client = server.client("digits").await;
    let digits = "12345678901234567890.1234567890123456789";
    let document = format!(r#"{{"sku":"B<7>","weight":{digits},"price":1.50}}"#);
    let document = Json::parse(document).expect("JSON");
    client
        .models()
        .import(parcel(), &document)
        .await
        .expect("a model");
    client.models().lock(parcel()).await.expect("a lock");
    let written = client
        .entities()
        .create(parcel(), &document)
        .await
        .expect("a parcel");
    let entity = client
        .entities()
        .get(&written.entity_id)
        .await
        .expect("the parcel");
    assert!(entity.data.as_str().contains(digits), "{}", entity.data);
    assert!(entity.data.as_str().contains("1.50"), "{}", entity.data);
    let value: Value = entity.document().expect("a document");
    assert_eq!(value["weight"].to_string(), digits);
    let copied = client
        .entities()
        .create(parcel(), &value)
        .await
        .expect("a copy");
    let copy = client
        .entities()
        .get(copied.entity_id)
        .await
        .expect("the copy");
    assert_eq!(copy.document::<Value>().expect("a document"), value);
}

#[tokio::test]
async fn failures_have_code_kind_and_remedy() {
    let server = Server::start().await;
    let client = server.client("failures").await;
    let missing = "00000000-0000-0000-0000-000000000000";
    let error = client
        .entities()
        .get(missing)
        .await
        .expect_err("no such entity");
    assert_eq!(*error.code(), Code::EntityNotFound);
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(!error.is_retryable());
    assert!(
        error
            .remedy()
            .is_some_and(|remedy| remedy.contains("does not exist"))
    );
}

#[tokio::test]
async fn many_requests_run_side_by_side() {
    let server = Server::start().await;
    let client = Client::new(server.tenant("many").in_flight(32)).expect("a client");
    make_parcels(&client, None).await;
    let create = |number: u32| {
        let document = json!({"sku": number.to_string(), "weight": number});
        client.entities().create(parcel(), &document).into_future()
    };
    for created in join_all((0..300).map(create)).await {
        created.expect("a parcel");
    }
    let found = client
        .entities()
        .search(EntitySearchRequest::new(Condition::all(), parcel()));
    assert_eq!(found.all().await.expect("a result").len(), 300);
    let listed = client
        .entities()
        .list(parcel())
        .all()
        .await
        .expect("a list");
    assert_eq!(listed.len(), 300);
}

/// Pages found by their number would have moved by what was deleted.
#[tokio::test]
async fn everything_that_is_listed_can_be_deleted_meanwhile() {
    let server = Server::start().await;
    let client = server.client("deleted").await;
    make_parcels(&client, None).await;
    let document: Json = json!({"sku": "A"}).into();
    let parcels = (0..1001).map(|_| NewEntity::new(document.clone(), parcel()));
    let request = EntityCreateCollectionRequest::new(DataFormat::Json, parcels);
    let created = client.entity_create_collection(&request).await;
    created.expect("parcels");
    let mut listed = client.entities().list(parcel());
    let mut deleted = 0;
    while let Some(entity) = listed.next().await {
        let deleting = client.entities().delete(entity.expect("a parcel").id);
        deleting.await.expect("a deletion");
        deleted += 1;
    }
    assert_eq!(deleted, 1001);
    let rest = client.entities().list(parcel()).all().await;
    assert_eq!(rest.expect("a list"), []);
}

#[tokio::test]
async fn leaving_an_answer_early_cancels_it() {
    let server = Server::start().await;
    let client = Client::new(server.tenant("left").in_flight(1)).expect("a client");
    make_parcels(&client, None).await;
    for number in 0..20 {
        let document = json!({"sku": number.to_string()});
        client
            .entities()
            .create(parcel(), &document)
            .await
            .expect("a parcel");
    }
    for _ in 0..5 {
        let request = EntitySearchRequest::new(Condition::all(), parcel());
        let mut found = client.entities().search(request);
        found.next().await.expect("an item").expect("an entity");
    }
    // With one place, this waits until the answers that were left have ended.
    client
        .account_get(&AccountGetRequest::new())
        .await
        .expect("an answer");
}

#[tokio::test]
async fn a_repeat_under_a_key_gets_the_first_answer() {
    let server = Server::start().await;
    let client = server.client("keys").await;
    make_parcels(&client, None).await;
    let create = |sku: &str| {
        let document = json!({"sku": sku});
        client
            .entities()
            .create(parcel(), &document)
            .idempotency_key("order-1")
    };
    let first = create("A").await.expect("a parcel");
    let second = create("A").await.expect("the same parcel");
    assert_eq!(first.entity_id, second.entity_id);
    let error = create("B")
        .await
        .expect_err("another document under the key");
    assert_eq!(*error.code(), Code::IdempotencyConflict);
}

#[tokio::test]
async fn a_server_that_does_not_run_is_a_lost_connection() {
    let options = ConnectOptions::new("127.0.0.1:1").connect_timeout(Duration::from_millis(200));
    let client = Client::new(options.clone()).expect("a client");
    let error = client.entities().get("x").await.expect_err("no server");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
    assert!(error.is_retryable(), "{error}");
    let error = Client::connect(options).await.expect_err("no server");
    assert!(
        error.message().contains("no answer from 127.0.0.1:1"),
        "{error}"
    );
}

#[tokio::test]
async fn a_client_works_again_after_a_restart() {
    let mut server = Server::start().await;
    let client = server.client("restart").await;
    client
        .account_get(&AccountGetRequest::new())
        .await
        .expect("an answer");
    server.kill().await;
    server.restart().await;
    let begun = Instant::now();
    while let Err(error) = client.account_get(&AccountGetRequest::new()).await {
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{error}");
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_is_not_sent() {
    let server = Server::start().await;
    let client = server.client("large").await;
    make_parcels(&client, None).await;
    let create = |size: usize| {
        let document = json!({"sku": "x".repeat(size)});
        client.entities().create(parcel(), &document)
    };
    let error = create(17 << 20).await.expect_err("too large");
    assert_eq!(*error.code(), Code::MessageTooLarge);
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    // The longest key is a part of the message, which is as large as its data otherwise may be.
    let almost = create((16 << 20) - 1230).idempotency_key("\u{1F511}".repeat(255));
    let error = almost.await.expect_err("too large");
    assert_eq!(*error.code(), Code::MessageTooLarge);
    let written = create(1 << 20).await.expect("a parcel");
    let entity = client
        .entities()
        .get(written.entity_id)
        .await
        .expect("the parcel");
    assert_eq!(
        entity.document::<Value>().expect("a document")["sku"]
            .as_str()
            .map(str::len),
        Some(1 << 20)
    );
}

#[tokio::test]
async fn a_client_that_was_closed_says_so() {
    let server = Server::start().await;
    let client = server.client("closed").await;
    client
        .account_get(&AccountGetRequest::new())
        .await
        .expect("an answer");
    client.close().await;
    let error = client.entities().get("x").await.expect_err("it is closed");
    assert_eq!(*error.code(), Code::ClientClosed);
}

#[tokio::test]
async fn options_that_cannot_be_used_are_refused_by_name() {
    for options in [
        ConnectOptions::new("not a target"),
        ConnectOptions::new("localhost:1").metadata("späße", "1"),
        ConnectOptions::new("localhost:1").certificate_authority("no certificate"),
    ] {
        let error = Client::new(options.clone()).expect_err("they are not valid");
        assert_eq!(
            *error.code(),
            Code::InvalidOptions,
            "{error} of {options:?}"
        );
    }
}

#[tokio::test]
async fn a_url_is_no_target() {
    for url in ["http://localhost:9090", "https://example.com"] {
        let error = Client::new(url).expect_err("it is not valid");
        assert_eq!(*error.code(), Code::InvalidOptions, "{error}");
        assert!(error.message().contains("host:port"), "{error}");
        let joined = Member::new(url).join().await;
        let error = joined.expect_err("it is not valid");
        assert_eq!(*error.code(), Code::InvalidOptions, "{error}");
    }
}

#[tokio::test]
async fn a_member_without_places_is_refused() {
    let joined = Member::new("localhost:9090").concurrency(0).join().await;
    let error = joined.expect_err("it is not valid");
    assert_eq!(*error.code(), Code::InvalidOptions, "{error}");
}

#[tokio::test]
async fn a_run_with_a_key_is_started_once() {
    let server = Server::start().await;
    let client = server.client("once").await;
    let document = json!({"kind": "Workflow", "name": "once", "version": "1",
        "idempotency": "required",
        "start": {"waitForSignal": {"type": "go", "timeoutMs": 60_000}}});
    let defined = client
        .run_definition_create(&RunDefinitionCreateRequest::new(document))
        .await;
    defined.expect("a definition");
    let start = async |n: u64| {
        let started = client
            .runs()
            .start_once("once", &json!({"n": n}), "k")
            .await;
        started.expect("a run").run_id
    };
    let first = start(1).await;
    assert!(first.is_some());
    assert_eq!(start(2).await, first);
}
