//! What one tenant may ask for, and that another does not notice.

use std::time::Duration;

use futures_util::future::join_all;
use interlock::event::AttributeValue;
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Reply, Rest, Said, Server, backend, code, create, database::Database,
    governed_model, locked_model, new_entity, payload_of, processed_by, request, sync_processor,
};

const CALLERS: (&str, &str) = ("INTERLOCK_IAM_MOCK_CALLER", "true");

/// How long a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

fn server(limit: &'static str, most: &'static str) -> Server {
    Server::with(&[CALLERS, (limit, most)])
}

fn rest_of(server: &Server, tenant: &str) -> Rest {
    server.rest().with("x-mock-tenant", tenant)
}

async fn connection_of(server: &Server, tenant: &str) -> Connection {
    server.connect_as(&[("x-mock-tenant", tenant)]).await
}

/// A refusal over REST because of a limit; in how many milliseconds to try again.
fn refused(said: &Said, limit: &str) -> u64 {
    let problem = said.refused(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!(problem["properties"]["retryable"], true, "{problem}");
    assert_eq!(problem["properties"]["limit"], limit, "{problem}");
    let ms = problem["properties"]["retryAfterMs"]
        .as_u64()
        .expect("a time");
    assert_eq!(
        said.headers["retry-after"],
        ms.div_ceil(1_000).to_string(),
        "{problem}"
    );
    ms
}

/// The same on a stream, in-band.
fn refused_in_band(answer: &Value, limit: &str) -> u64 {
    assert_eq!(code(answer), "TENANT_LIMIT_EXCEEDED", "{answer}");
    let error = &answer["error"];
    assert_eq!(
        (&answer["success"], &error["retryable"]),
        (&json!(false), &json!(true)),
        "{answer}"
    );
    assert_eq!(error["properties"]["limit"], limit, "{answer}");
    error["properties"]["retryAfterMs"]
        .as_u64()
        .expect("a time")
}

async fn measured(server: &Server, limit: &str) -> bool {
    let metrics = Rest::new(server.admin).get("/metrics").await.text;
    assert!(!metrics.contains("greedy"), "no tenant is named");
    let name = format!("interlock_tenant_limit_refusals_total{{limit=\"{limit}\"}} ");
    let count = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name.as_str()));
    count.expect("a line").parse::<u64>().expect("a number") > 0
}

#[tokio::test]
async fn a_tenant_makes_so_many_requests_in_a_second_and_others_make_theirs() {
    let server = server("INTERLOCK_TENANT_REQUESTS_PER_SECOND", "2");
    let greedy = rest_of(&server, "greedy");
    let all = join_all((0..40).map(|_| greedy.get("/api/account"))).await;
    let (let_in, kept_out): (Vec<_>, Vec<_>) = all.iter().partition(|said| said.status == 200);
    assert!(
        let_in.len() >= 2 && kept_out.len() >= 2,
        "{} {}",
        let_in.len(),
        kept_out.len()
    );
    for said in kept_out {
        assert!((1..=1_000).contains(&refused(said, "requestsPerSecond")));
    }
    rest_of(&server, "modest").get("/api/account").await.ok();
    assert!(measured(&server, "requests_per_second").await);

    // Every API counts alike, and a client that waits as long as asked is let in.
    let connection = connection_of(&server, "greedy").await;
    let ask = || connection.call("AccountGetRequest", json!({}));
    let wait = loop {
        let answer = ask().await;
        if answer["success"] == false {
            break refused_in_band(&answer, "requestsPerSecond");
        }
    };
    tokio::time::sleep(Duration::from_millis(wait)).await;
    assert_eq!(ask().await["success"], true);
}

#[tokio::test]
async fn a_tenant_has_so_many_requests_in_flight_and_others_have_theirs() {
    let server = server("INTERLOCK_TENANT_IN_FLIGHT", "2");
    let (connection, rest) = (
        connection_of(&server, "greedy").await,
        rest_of(&server, "greedy"),
    );
    let flow = processed_by(json!([sync_processor("p", json!({}))]));
    let doc = governed_model(&connection, "doc", json!({"n": 1}), flow).await;
    let other = locked_model(&connection, "other", json!({"n": 1})).await;
    let member = Member::join_on(connection_of(&server, "greedy").await, &[]).await;
    let mut answers = Vec::new();
    let mut calls = Vec::new();
    for n in 0..2 {
        let id = connection.fresh_id();
        let create = request(
            "EntityCreateRequest",
            &id,
            new_entity(&doc, &json!({"n": n})),
        );
        answers.push(connection.begin(create).await);
        calls.push(member.next().await);
    }
    refused(&rest.get("/api/account").await, "inFlight");
    let answer = connection.call("AccountGetRequest", json!({})).await;
    refused_in_band(&answer, "inFlight");
    rest_of(&server, "modest").get("/api/account").await.ok();
    assert!(measured(&server, "in_flight").await);

    // The work of the member is part of what is in flight already; a token is not enough.
    let within = |token: &str| {
        let event = request(
            "EntityCreateRequest",
            "within",
            new_entity(&other, &json!({"n": 5})),
        );
        event.with("cyodatxtoken", AttributeValue::String(token.into()))
    };
    let made = payload_of(&member.connection.ask(within(calls[0].token())).await[0]);
    assert_eq!(made["success"], true, "{made}");
    let forged = format!("{}x", calls[0].token());
    let made = payload_of(&member.connection.ask(within(&forged)).await[0]);
    refused_in_band(&made, "inFlight");
    let foreign = connection_of(&server, "modest").await;
    let made = payload_of(&foreign.ask(within(calls[0].token())).await[0]);
    assert_eq!(code(&made), "FORBIDDEN", "{made}");

    for call in &calls {
        member.reply(call, Reply::Nothing).await;
    }
    for mut answer in answers {
        let answer = tokio::time::timeout(PATIENCE, answer.recv())
            .await
            .expect("in time");
        assert_eq!(payload_of(&answer.expect("an answer"))["success"], true);
    }
    // A request that has been answered has left its place.
    connection.ok("AccountGetRequest", json!({})).await;
    // The token of a transaction that is over lets nobody in, and nobody needs it.
    let late = payload_of(&member.connection.ask(within(calls[0].token())).await[0]);
    assert_eq!(code(&late), "TRANSACTION_NOT_FOUND", "{late}");
}

#[tokio::test]
async fn a_member_ends_what_it_was_called_for_however_few_requests_its_tenant_may_make() {
    let mut server = Server::on_disk(&[CALLERS]);
    let connection = connection_of(&server, "greedy").await;
    let flow = processed_by(json!([sync_processor("p", json!({}))]));
    let doc = governed_model(&connection, "doc", json!({"n": 1}), flow).await;
    let other = locked_model(&connection, "other", json!({"n": 1})).await;
    server.stop().await;
    server.restart_with(&[CALLERS, ("INTERLOCK_TENANT_REQUESTS_PER_SECOND", "1")]);
    let member = Member::join_on(connection_of(&server, "greedy").await, &[]).await;
    member.serve(move |call, connection| {
        let other = other.clone();
        async move {
            for n in 0..20 {
                let made = new_entity(&other, &json!({"n": n}));
                let token = [("cyodatxtoken", call.token())];
                let made = connection
                    .call_with("EntityCreateRequest", made, &token)
                    .await;
                assert_eq!(made["success"], true, "{made}");
            }
            Reply::Data(json!({"n": 20}))
        }
    });
    let connection = connection_of(&server, "greedy").await;
    let made = connection
        .ok("EntityCreateRequest", new_entity(&doc, &json!({"n": 1})))
        .await;
    assert!(
        made["transactionInfo"]["transactionId"].is_string(),
        "{made}"
    );
}

#[tokio::test]
async fn what_is_followed_is_in_flight_and_leaves_places_to_others() {
    let server = server("INTERLOCK_TENANT_IN_FLIGHT", "2");
    let rest = rest_of(&server, "greedy");
    let connection = connection_of(&server, "greedy").await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    let stream = "/api/entity/changes/stream?fromSequence=0";
    let mut followed = rest.open("GET", stream, "").await;
    assert_eq!(followed.status, 200);
    followed.sent().await.expect("a change");
    let second = rest.get(stream).await;
    refused(&second, "inFlight");
    rest.get("/api/account").await.ok();
    // The last event of a streamed answer is the end of it.
    let search = json!({"model": model, "condition": {"type": "group", "operator": "AND", "conditions": []}});
    for _ in 0..5 {
        let (found, _) = connection.all("EntitySearchRequest", search.clone()).await;
        assert_eq!(found.len(), 1);
    }
    drop(followed);
    let again = async {
        loop {
            let again = rest.open("GET", stream, "").await;
            if again.status == 200 {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, again)
        .await
        .expect("its place is free in time");
}

#[tokio::test]
async fn a_tenant_stores_so_many_bytes_and_deletes_however_many_there_are() {
    let limit = ("INTERLOCK_TENANT_STORED_BYTES", "20000");
    let mut server = Server::on_disk(&[CALLERS, limit]);
    let connection = connection_of(&server, "greedy").await;
    let model = locked_model(&connection, "doc", json!({"text": "x"})).await;
    let large = |n: usize| json!({"text": "x".repeat(n)});
    let id = create(&connection, &model, large(8_000)).await;
    let message = json!({"payload": {"text": "x".repeat(14_000)}, "metaData": {}}).to_string();
    let rest = rest_of(&server, "greedy").with("content-type", "application/json");
    let sent = rest.post("/api/message/new/s", message).await.ok();
    let sent = sent[0]["entityIds"][0].as_str().expect("an id").to_owned();

    let one_more = new_entity(&model, &large(1));
    let answer = connection
        .call("EntityCreateRequest", one_more.clone())
        .await;
    assert_eq!(refused_in_band(&answer, "storedBytes"), 60_000);
    refused(
        &rest.post("/api/entity/JSON/doc/1", r#"{"text":"x"}"#).await,
        "storedBytes",
    );
    assert!(measured(&server, "stored_bytes").await);
    // The limit is not for readers, nor for other tenants.
    rest.get(&format!("/api/entity/{id}")).await.ok();
    let modest = connection_of(&server, "modest").await;
    let theirs = locked_model(&modest, "doc", json!({"text": "x"})).await;
    create(&modest, &theirs, large(100)).await;

    // What was stored before counts after a restart, too.
    server.kill();
    server.restart();
    let connection = connection_of(&server, "greedy").await;
    let counted = async {
        let is_counted = |line: &String| line.contains("what tenants have stored is counted");
        while !server.log.lock().expect("no panic").iter().any(is_counted) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, counted)
        .await
        .expect("counted in time");
    let answer = connection
        .call("EntityCreateRequest", one_more.clone())
        .await;
    refused_in_band(&answer, "storedBytes");

    // The history of an entity stays, a message is gone.
    connection
        .ok("EntityDeleteRequest", json!({"entityId": id}))
        .await;
    let answer = connection
        .call("EntityCreateRequest", one_more.clone())
        .await;
    refused_in_band(&answer, "storedBytes");
    let rest = rest_of(&server, "greedy");
    rest.delete(&format!("/api/message/{sent}")).await.ok();
    connection.ok("EntityCreateRequest", one_more).await;
}

/// Deletes one message at once by many requests, alone and in lists, and stores as much as fits.
async fn deleted_at_once(servers: &[&Server]) {
    let first = servers[0];
    let here = connection_of(first, "greedy").await;
    let model = locked_model(&here, "doc", json!({"text": "x"})).await;
    let sender = rest_of(first, "greedy").with("content-type", "application/json");
    let message = json!({"payload": "x".repeat(5_000)}).to_string();
    for alone in [true, false] {
        let sent = sender.post("/api/message/new/s", message.clone()).await;
        let sent = sent.ok()[0]["entityIds"][0]
            .as_str()
            .expect("an id")
            .to_owned();
        let path = format!("/api/message/{sent}");
        let list = json!([sent, sent]).to_string();
        let deletions = servers.iter().cycle().take(16).map(|server| {
            let (path, list) = (&path, list.clone());
            async move {
                let rest = rest_of(server, "greedy");
                if alone {
                    rest.delete(path).await
                } else {
                    rest.send("DELETE", "/api/message", list).await
                }
            }
        });
        let mut answers = join_all(deletions).await;
        answers.sort_by_key(|answer| answer.status);
        for (at, answer) in answers.iter().enumerate() {
            if alone && at > 0 {
                answer.refused(404, "ENTITY_NOT_FOUND");
            } else {
                answer.ok();
            }
        }
    }
    // It was given back once, so that the limit still holds.
    create(&here, &model, json!({"text": "x".repeat(21_000)})).await;
    let one_more = new_entity(&model, &json!({"text": "x"}));
    for server in servers {
        let connection = connection_of(server, "greedy").await;
        let answer = connection
            .call("EntityCreateRequest", one_more.clone())
            .await;
        refused_in_band(&answer, "storedBytes");
    }
}

#[tokio::test]
async fn the_bytes_of_a_message_are_given_back_once_however_many_delete_it() {
    let limit = ("INTERLOCK_TENANT_STORED_BYTES", "20000");
    deleted_at_once(&[&Server::with(&[CALLERS, limit])]).await;
}

#[tokio::test]
async fn the_bytes_of_a_message_are_given_back_once_on_several_nodes() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let settings = [
        CALLERS,
        ("INTERLOCK_TENANT_STORED_BYTES", "20000"),
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url.as_str()),
    ];
    let (one, other) = (Server::on_disk(&settings), Server::on_disk(&settings));
    deleted_at_once(&[&one, &other]).await;
}

#[tokio::test]
async fn a_limit_of_bytes_that_is_reached_at_one_process_is_reached_at_every_one() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let settings = [
        CALLERS,
        ("INTERLOCK_TENANT_STORED_BYTES", "20000"),
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url.as_str()),
    ];
    let (one, other) = (Server::on_disk(&settings), Server::on_disk(&settings));
    let here = connection_of(&one, "greedy").await;
    let there = connection_of(&other, "greedy").await;
    let model = locked_model(&here, "doc", json!({"text": "x"})).await;
    let large = json!({"text": "x".repeat(8_000)});
    create(&here, &model, large.clone()).await;
    let message = json!({"payload": {"text": "x".repeat(14_000)}, "metaData": {}}).to_string();
    let rest = rest_of(&one, "greedy").with("content-type", "application/json");
    let sent = rest.post("/api/message/new/s", message).await.ok();
    let sent = sent[0]["entityIds"][0].as_str().expect("an id").to_owned();
    // Both have written; neither has written as much as the limit.
    let small = new_entity(&model, &json!({"text": "y"}));
    for connection in [&there, &here] {
        let answer = connection.call("EntityCreateRequest", small.clone()).await;
        refused_in_band(&answer, "storedBytes");
    }
    // What is deleted at one is gone at the other.
    let rest = rest_of(&other, "greedy");
    rest.delete(&format!("/api/message/{sent}")).await.ok();
    here.ok("EntityCreateRequest", small).await;
    // Each counts its own commits once, and those of the other once.
    create(&there, &model, json!({"text": "x".repeat(5_000)})).await;
    create(&here, &model, json!({"text": "x".repeat(3_000)})).await;
    create(&there, &model, json!({"text": "x".repeat(6_000)})).await;
    for connection in [&there, &here] {
        let answer = connection
            .call("EntityCreateRequest", new_entity(&model, &large))
            .await;
        refused_in_band(&answer, "storedBytes");
    }
}

#[tokio::test]
async fn the_list_of_nodes_counts_the_members_of_the_own_tenant() {
    let server = Server::with(&[CALLERS]);
    let _member = Member::join_on(connection_of(&server, "ours").await, &[]).await;
    for (tenant, members) in [("ours", 1), ("theirs", 0)] {
        let connection = connection_of(&server, tenant).await;
        let listed = connection.ok("NodesGetRequest", json!({})).await;
        assert_eq!(listed["nodes"][0]["members"], members, "{tenant}");
    }
}
