//! Several processes over one `PostgreSQL` database.

mod greeting;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::support::{
    Connection, Member, PATIENCE, Reply, Rest, Server, backend, code, create, database::Database,
    get, governed_model, locked_model, new_entity, payload_of, processed_by, request, state,
    sync_processor, wait::until,
};

/// What all tests of clusters share.
const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A process over a database.
fn process(database: &Database, settings: &[(&str, &str)]) -> Server {
    let url = database.url();
    let place = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url.as_str()),
    ];
    Server::on_disk(&[&place, settings].concat())
}

/// A node of a cluster.
fn node(database: &Database, name: &str) -> Server {
    let settings = [
        ("CYODA_CLUSTER_ENABLED", "true"),
        ("CYODA_NODE_ID", name),
        ("CYODA_HMAC_SECRET", SECRET),
    ];
    process(database, &settings)
}

#[tokio::test]
async fn processes_are_listed_while_they_live_and_leave_when_they_stop() {
    let database = Database::new(backend::migrate);
    let (mut one, mut two) = (process(&database, &[]), node(&database, "two"));
    assert_eq!(database.execute("select count(*) from node"), "2");
    let address = database.execute("select address from node where name = 'two'");
    assert_eq!(address, format!("http://localhost:{}", two.grpc.port()));
    let beat = "select max(beat) from node where name = 'two'";
    let first = database.execute(beat);
    until("the node beats", async || database.execute(beat) != first).await;
    let connection = two.connect().await;
    let member = Member::join(&two, &["red"]).await;
    let listed = connection.ok("NodesGetRequest", json!({})).await;
    let nodes = listed["nodes"].as_array().expect("a list");
    assert_eq!(nodes.len(), 2, "{listed}");
    assert!(nodes.iter().all(|node| node["live"] == true), "{listed}");
    let own = nodes.iter().find(|node| node["name"] == "two");
    let own = own.expect("the node itself");
    assert_eq!(
        (&own["address"], &own["members"]),
        (&json!(address), &json!(1))
    );
    let members = connection.ok("ComputeMembersGetRequest", json!({})).await;
    assert_eq!(members["members"][0]["node"], "two");
    drop(member);
    assert_eq!(one.stop().await, Some(0));
    assert_eq!(
        database.execute("select string_agg(name, ',') from node"),
        "two"
    );
    assert_eq!(two.stop().await, Some(0));
    assert_eq!(database.execute("select count(*) from node"), "0");
}

#[tokio::test]
async fn a_process_that_stands_still_loses_its_turn() {
    const TURN: &str = include_str!("../../src/storage/postgres/sql/session_turn.sql");
    const HELD: &str = "select count(*) from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())";
    let database = Database::new(backend::migrate);
    let server = process(&database, &[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let mut holder = database.idle_client(TURN);
    let held = async |count| database.execute(HELD) == count;
    create(&connection, &model, json!({"n": 1})).await;
    until("the turn is lost", async || held("0").await).await;
    assert_eq!(holder.try_wait().expect("a process"), None, "it lives");
    drop(holder.stdin.take());
    holder.wait().expect("ends");
    create(&connection, &model, json!({"n": 1})).await;
}

#[tokio::test]
async fn a_write_after_idle_time_is_not_lost_with_its_old_connection() {
    const TERMINATE: &str = "select count(pg_terminate_backend(pid)) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()";
    let database = Database::new(backend::migrate);
    let server = process(&database, &[]);
    let connection = server.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let id = create(&connection, &model, json!({"n": 1})).await;
    database.execute(TERMINATE);
    // A connection is tried before it is used once it has been idle for a second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    until("reads are answered again", async || {
        let read = json!({"entityId": id});
        connection.call("EntityGetRequest", read).await["success"] == true
    })
    .await;
    create(&connection, &model, json!({"n": 2})).await;
}

#[tokio::test]
async fn a_process_that_starts_with_a_name_in_use_takes_it_over() {
    let database = Database::new(backend::migrate);
    let mut first = node(&database, "a");
    let number = database.execute("select i from node");
    let second = node(&database, "a");
    assert_eq!(first.wait().await, Some(1));
    // Its last lines may be read after it has ended.
    until("the log says why", async || {
        let log = first.log.lock().expect("no panic");
        log.iter()
            .any(|line| line.contains("another process has started as node a"))
    })
    .await;
    assert_ne!(database.execute("select i from node"), number);
    assert_eq!(
        database.execute("select address from node"),
        format!("http://localhost:{}", second.grpc.port())
    );
}

/// What the tests below have: three nodes over one database, and two models, of which the entities
/// of one are processed by a member.
struct Scene {
    database: Database,
    a: Server,
    b: Server,
    c: Server,
    doc: Value,
    other: Value,
}

async fn scene() -> Scene {
    let database = Database::new(backend::migrate);
    let [a, b, c] = ["a", "b", "c"].map(|name| node(&database, name));
    let connection = a.connect().await;
    let processor = sync_processor("p", json!({"calculationNodesTags": "red"}));
    let doc = governed_model(
        &connection,
        "doc",
        json!({"n": 1, "seen": "x"}),
        processed_by(json!([processor])),
    )
    .await;
    let other = locked_model(&connection, "other", json!({"n": 1})).await;
    Scene {
        database,
        a,
        b,
        c,
        doc,
        other,
    }
}

/// Waits until the log says something.
async fn until_said(server: &Server, what: &str) {
    until(what, async || server.logged().contains(what)).await;
}

#[tokio::test]
async fn a_create_at_one_node_calls_a_member_of_another_whose_callback_lands_on_a_third() {
    let scene = scene().await;
    let member = Member::join(&scene.c, &["red"]).await;
    let (grpc, rest) = (Arc::new(scene.b.connect().await), Rest::new(scene.b.http));
    let other = scene.other.clone();
    let served = member.serve(move |call, _| {
        let (grpc, rest, other) = (Arc::clone(&grpc), rest.clone(), other.clone());
        async move {
            let token = [("cyodatxtoken", call.token())];
            let made = new_entity(&other, &json!({"n": 7}));
            let made = grpc.call_with("EntityCreateRequest", made, &token).await;
            assert_eq!(
                made["transactionInfo"]["transactionId"], call.payload["transactionId"],
                "the transaction of the caller: {made}"
            );
            let id = made["transactionInfo"]["entityIds"][0].clone();
            let read = json!({"entityId": id});
            let seen = grpc
                .call_with("EntityGetRequest", read.clone(), &token)
                .await;
            assert_eq!(seen["payload"]["data"], json!({"n": 7}));
            assert_eq!(
                grpc.fails("EntityGetRequest", read).await,
                "ENTITY_NOT_FOUND"
            );
            let all = json!({"id": "x", "model": other});
            let all = grpc.all_with("EntityGetAllRequest", all, &token).await;
            assert_eq!(all.len(), 1, "answers of many items are carried: {all:?}");
            let missing = json!({"entityId": "00000000-0000-0000-0000-000000000001"});
            let failed = grpc.call_with("EntityGetRequest", missing, &token).await;
            assert_eq!(code(&failed), "ENTITY_NOT_FOUND", "so are failures");
            let rest = rest.with("x-tx-token", call.token());
            let second = rest.create("other", r#"{"n": 8}"#).await;
            let seen = rest.get(&format!("/api/entity/{second}")).await.ok();
            assert_eq!(seen["data"], json!({"n": 8}));
            assert_eq!(rest.get("/api/entity/nothing").await.status, 400);
            Reply::Data(json!({"n": 1, "seen": [id, second]}))
        }
    });
    let connection = scene.a.connect().await;
    let made = new_entity(&scene.doc, &json!({"n": 1}));
    let made = connection.call("EntityCreateRequest", made).await;
    assert!(!served.is_finished(), "the member failed: {made}");
    let id = made["transactionInfo"]["entityIds"][0]
        .as_str()
        .expect("an id");
    let entity = get(&connection, id).await;
    for second in entity["data"]["seen"].as_array().expect("ids") {
        let second = get(&connection, second.as_str().expect("an id")).await;
        assert_eq!(
            second["meta"]["transactionId"], entity["meta"]["transactionId"],
            "one transaction"
        );
    }
}

#[tokio::test]
async fn a_node_that_stops_finishes_what_it_and_others_have_in_flight() {
    let mut scene = scene().await;
    let member = Member::join(&scene.c, &["red"]).await;
    let third = scene.b.connect().await;
    // The node of the request stops first, then the node of the member.
    for is_at_member in [false, true] {
        let caller = if is_at_member { &scene.b } else { &scene.a };
        let rest = Rest::new(caller.http);
        let creating =
            tokio::spawn(async move { rest.create("doc", r#"{"n": 1, "seen": "x"}"#).await });
        let call = member.next().await;
        let stopping = if is_at_member {
            &mut scene.c
        } else {
            &mut scene.a
        };
        stopping.signal("-TERM");
        until_said(stopping, "stopping").await;
        // Longer than a stream that nobody uses.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let token = [("cyodatxtoken", call.token())];
        let made = new_entity(&scene.other, &json!({"n": 7}));
        let made = third.call_with("EntityCreateRequest", made, &token).await;
        assert_eq!(made["success"], true, "{made}");
        member
            .reply(&call, Reply::Data(json!({"n": 2, "seen": "y"})))
            .await;
        let id = creating.await.expect("created");
        assert_eq!(get(&third, &id).await["data"]["n"], 2);
        assert_eq!(stopping.wait().await, Some(0));
    }
}

/// All changes that a node shows, up to that of an entity, as they are.
async fn feed_until(connection: &Connection, last: &str) -> Vec<Value> {
    let id = connection.fresh_id();
    let all = json!({"fromSequence": 0, "includeData": true});
    let asked = request("EntityChangesSubscribeRequest", &id, all);
    let mut answers = connection.begin(asked).await;
    let mut changes = Vec::new();
    loop {
        let next = tokio::time::timeout(PATIENCE, answers.recv()).await;
        let mut change = payload_of(&next.expect("a change in time").expect("a change"));
        assert_eq!(change["success"], true, "{change}");
        // Each event has an id of its own, and that of the request.
        for name in ["id", "requestId"] {
            change.as_object_mut().expect("an object").remove(name);
        }
        let is_last = change["entityId"] == last;
        changes.push(change);
        if is_last {
            return changes;
        }
    }
}

#[tokio::test]
async fn a_model_a_workflow_and_a_member_of_three_nodes_work_together_and_their_feeds_agree() {
    const ORDERS: usize = 10;
    let database = Database::new(backend::migrate);
    let [a, b, c] = ["a", "b", "c"].map(|name| node(&database, name));
    let (at_a, at_b) = (a.connect().await, Arc::new(b.connect().await));
    let order = locked_model(&at_a, "order", json!({"n": 1, "line": "x"})).await;
    let line = locked_model(&at_a, "line", json!({"n": 1})).await;
    let processor = sync_processor("p", json!({"calculationNodesTags": "red"}));
    let workflow = processed_by(json!([processor]));
    let import = json!({"model": order, "workflows": [workflow]});
    at_b.ok("EntityWorkflowImportRequest", import).await;
    let member = Member::join(&c, &["red"]).await;
    let (callback, line_of) = (Arc::clone(&at_b), line.clone());
    let served = member.serve(move |call, _| {
        let (at_b, line) = (Arc::clone(&callback), line_of.clone());
        async move {
            let n = call.data()["n"].clone();
            let token = [("cyodatxtoken", call.token())];
            let made = new_entity(&line, &json!({"n": n}));
            let made = at_b.call_with("EntityCreateRequest", made, &token).await;
            assert_eq!(made["success"], true, "{made}");
            let id = &made["transactionInfo"]["entityIds"][0];
            // Nobody else sees it yet.
            let early = json!({"entityId": id});
            let early = at_b.fails("EntityGetRequest", early).await;
            assert_eq!(early, "ENTITY_NOT_FOUND");
            Reply::Data(json!({"n": n, "line": id}))
        }
    });
    let mut made = Vec::new();
    for n in 0..ORDERS {
        let id = create(&at_a, &order, json!({"n": n})).await;
        assert!(!served.is_finished(), "the member failed");
        let entity = get(&at_b, &id).await;
        assert_eq!(state(&entity), "DONE");
        let line = entity["data"]["line"].as_str().expect("an id").to_owned();
        let with_it = get(&at_b, &line).await;
        assert_eq!(
            with_it["meta"]["transactionId"], entity["meta"]["transactionId"],
            "one transaction"
        );
        made.extend([id, line]);
    }
    // The change that all feeds are read up to.
    let last = create(&at_b, &line, json!({"n": 0})).await;
    made.push(last.clone());
    let at_c = c.connect().await;
    let whole = feed_until(&at_a, &last).await;
    for other in [&at_b, &at_c] {
        assert_eq!(feed_until(other, &last).await, whole);
    }
    let mut seen: Vec<_> = whole
        .iter()
        .map(|change| change["entityId"].as_str())
        .collect();
    let mut expected: Vec<_> = made.iter().map(|id| Some(id.as_str())).collect();
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected, "each change once");
    assert!(whole.is_sorted_by_key(|change| change["sequence"].as_i64()));
}

#[tokio::test]
async fn a_member_that_joins_at_another_node_while_a_call_waits_is_called() {
    let scene = scene().await;
    let connection = scene.a.connect().await;
    let made = request(
        "EntityCreateRequest",
        &connection.fresh_id(),
        new_entity(&scene.doc, &json!({"n": 1})),
    );
    let mut answers = connection.begin(made).await;
    let member = Member::join(&scene.c, &["red", "blue"]).await;
    let call = member.next().await;
    assert_eq!(call.processor(), "p");
    member.reply(&call, Reply::Data(json!({"n": 2}))).await;
    let answer = payload_of(&answers.recv().await.expect("an answer"));
    assert_eq!(answer["success"], true, "{answer}");
}

#[tokio::test]
async fn a_call_that_a_member_of_another_node_declines_goes_to_another_member() {
    let scene = scene().await;
    let stopping = Member::join(&scene.b, &["red"]).await;
    let mut calls = stopping.record(|_| {
        let error = json!({"code": "MEMBER_STOPPING", "message": "the member is stopping"});
        Reply::Raw(json!({"success": false, "error": error}))
    });
    let connection = scene.a.connect().await;
    let made = new_entity(&scene.doc, &json!({"n": 1}));
    let (answer, ()) = tokio::join!(connection.call("EntityCreateRequest", made), async {
        calls.recv().await.expect("a call");
        let successor = Member::join(&scene.c, &["red"]).await;
        let call = successor.next().await;
        successor.reply(&call, Reply::Nothing).await;
    });
    assert_eq!(answer["success"], true, "{answer}");
    assert!(calls.try_recv().is_err(), "it was called again");
}

#[tokio::test]
async fn a_node_that_is_killed_with_a_call_fails_the_call() {
    let mut scene = scene().await;
    let connection = scene.a.connect().await;
    let member = Member::join(&scene.c, &["red"]).await;
    let made = request(
        "EntityCreateRequest",
        &connection.fresh_id(),
        new_entity(&scene.doc, &json!({"n": 1})),
    );
    let mut answers = connection.begin(made).await;
    member.next().await;
    scene.c.kill();
    let answer = payload_of(&answers.recv().await.expect("an answer"));
    // It may have ended before it could say that it had taken the call over.
    let failures = ["COMPUTE_MEMBER_DISCONNECTED", "DISPATCH_FORWARD_FAILED"];
    assert!(failures.contains(&&*code(&answer)), "{answer}");
}

#[tokio::test]
async fn a_transaction_whose_node_is_gone_is_unavailable() {
    let mut scene = scene().await;
    let connection = scene.a.connect().await;
    let member = Member::join(&scene.c, &["red"]).await;
    let made = request(
        "EntityCreateRequest",
        &connection.fresh_id(),
        new_entity(&scene.doc, &json!({"n": 1})),
    );
    let _answers = connection.begin(made).await;
    let call = member.next().await;
    scene.a.kill();
    let made = new_entity(&scene.other, &json!({"n": 7}));
    let token = [("cyodatxtoken", call.token())];
    let grpc = scene.b.connect().await;
    let answer = grpc.call_with("EntityCreateRequest", made, &token).await;
    assert_eq!(code(&answer), "TRANSACTION_NODE_UNAVAILABLE", "{answer}");
    let rest = Rest::new(scene.b.http).with("x-tx-token", call.token());
    let body = r#"{"n": 8}"#;
    let refused = rest.post("/api/entity/JSON/other/1", body).await;
    refused.refused_for_now(503, "TRANSACTION_NODE_UNAVAILABLE");
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_between_nodes_has_an_unknown_outcome() {
    let scene = scene().await;
    let settings = [
        ("CYODA_CLUSTER_ENABLED", "true"),
        ("CYODA_NODE_ID", "d"),
        ("CYODA_HMAC_SECRET", SECRET),
        ("CYODA_PROXY_TIMEOUT", "1s"),
    ];
    let d = process(&scene.database, &settings);
    let connection = scene.a.connect().await;
    let member = Member::join(&scene.c, &["red"]).await;
    let made = request(
        "EntityCreateRequest",
        &connection.fresh_id(),
        new_entity(&scene.doc, &json!({"n": 1})),
    );
    let _answers = connection.begin(made).await;
    let call = member.next().await;
    let grpc = d.connect().await;
    let token = [("cyodatxtoken", call.token())];
    let ask = async |kind: &str, payload: Value| grpc.call_with(kind, payload, &token).await;
    // The stream to the node of the transaction is open.
    let made = new_entity(&scene.other, &json!({"n": 7}));
    let written = ask("EntityCreateRequest", made.clone()).await;
    assert_eq!(written["success"], true, "{written}");
    scene.a.freeze();
    let lost = ask("EntityCreateRequest", made).await;
    assert_eq!(code(&lost), "OUTCOME_UNKNOWN", "{lost}");
    let rest = Rest::new(d.http).with("x-tx-token", call.token());
    let lost = rest.post("/api/entity/JSON/other/1", r#"{"n": 8}"#).await;
    lost.refused(503, "OUTCOME_UNKNOWN");
    // A read has done nothing.
    let id = &written["transactionInfo"]["entityIds"][0];
    let unread = ask("EntityGetRequest", json!({"entityId": id})).await;
    assert_eq!(code(&unread), "TRANSACTION_NODE_UNAVAILABLE", "{unread}");
    scene.a.signal("-CONT");
}

#[tokio::test]
async fn a_node_with_another_secret_gets_no_calls() {
    let scene = scene().await;
    let other = "ff".repeat(32);
    let settings = [
        ("CYODA_CLUSTER_ENABLED", "true"),
        ("CYODA_NODE_ID", "d"),
        ("CYODA_HMAC_SECRET", other.as_str()),
    ];
    let d = process(&scene.database, &settings);
    let _member = Member::join(&d, &["red"]).await;
    let connection = scene.a.connect().await;
    let made = new_entity(&scene.doc, &json!({"n": 1}));
    // Until the member is in the database there is none.
    until("the call is to be forwarded", async || {
        let failed = connection.fails("EntityCreateRequest", made.clone()).await;
        failed == "DISPATCH_FORWARD_FAILED"
    })
    .await;
    until_said(&scene.a, "CYODA_HMAC_SECRET").await;
    // Where another node has a member, too, that one is called.
    let reached = Member::join(&scene.b, &["red"]).await;
    reached.serve(|_, _| async { Reply::Nothing });
    until("the member of the other node is called", async || {
        let answer = connection.call("EntityCreateRequest", made.clone());
        answer.await["success"] == true
    })
    .await;
    for _ in 0..6 {
        connection.ok("EntityCreateRequest", made.clone()).await;
    }
}

/// A way to a server that can be cut: connections on it end, and new ones are closed at once.
struct Way {
    address: String,
    /// Where it leads; nowhere while it is cut.
    leads: watch::Sender<Option<std::net::SocketAddr>>,
}

impl Way {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (leads, led) = watch::channel(None);
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let mut led = led.clone();
                tokio::spawn(async move {
                    let Some(to) = *led.borrow_and_update() else {
                        return;
                    };
                    let mut to = TcpStream::connect(to).await.expect("the server is there");
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut from, &mut to) => {}
                        _ = led.changed() => {}
                    }
                });
            }
        });
        Self { address, leads }
    }
}

#[tokio::test]
async fn a_stream_between_nodes_that_breaks_is_opened_again_and_a_node_without_it_serves() {
    let mut scene = scene().await;
    let way = Way::new().await;
    scene.c.kill();
    let settings = [
        ("CYODA_CLUSTER_ENABLED", "true"),
        ("CYODA_NODE_ID", "d"),
        ("CYODA_HMAC_SECRET", SECRET),
        ("CYODA_GRPC_NODE_ADDR", way.address.as_str()),
    ];
    let d = process(&scene.database, &settings);
    way.leads.send_replace(Some(d.grpc));
    let remote = Member::join(&d, &["red"]).await;
    let _served = remote.serve(|_, _| async { Reply::Data(json!({"n": 1, "seen": "remote"})) });
    let connection = scene.a.connect().await;
    let made = new_entity(&scene.doc, &json!({"n": 1, "seen": "x"}));
    let seen = async || {
        let answer = connection.call("EntityCreateRequest", made.clone()).await;
        let id = answer["transactionInfo"]["entityIds"][0]
            .as_str()?
            .to_owned();
        get(&connection, &id).await["data"]["seen"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(seen().await.as_deref(), Some("remote"));
    // The stream breaks once: calls fail until that is noticed, and then there is another one.
    way.leads.send_replace(Some(d.grpc));
    until("the stream is opened again", async || {
        seen().await.is_some()
    })
    .await;
    way.leads.send_replace(None);
    let named = format!("node=d address=http://{}", way.address);
    until("the other node is cut off and named", async || {
        let failed = connection.fails("EntityCreateRequest", made.clone()).await;
        failed == "DISPATCH_FORWARD_FAILED" && scene.a.logged().contains(&named)
    })
    .await;
    let local = Member::join(&scene.a, &["red"]).await;
    let _serving = local.serve(|_, _| async { Reply::Data(json!({"n": 1, "seen": "local"})) });
    assert_eq!(seen().await.as_deref(), Some("local"));
}

#[tokio::test]
async fn a_node_of_another_cluster_gets_no_calls() {
    let scene = scene().await;
    // In the other cluster, too, there is a node of the number that the next one here has.
    let newest = scene.database.execute("select max(i) from node");
    let next = newest.parse::<i64>().expect("a number") + 1;
    let other = Database::new(backend::migrate);
    other.execute(&format!("alter table node alter i restart with {next}"));
    let foreign = node(&other, "foreign");
    let wrong = Member::join(&foreign, &["red"]).await;
    wrong.serve(|_, _| async { Reply::Nothing });
    let address = foreign.grpc.to_string();
    let settings = [
        ("CYODA_CLUSTER_ENABLED", "true"),
        ("CYODA_NODE_ID", "lost"),
        ("CYODA_HMAC_SECRET", SECRET),
        ("CYODA_GRPC_NODE_ADDR", address.as_str()),
    ];
    let lost = process(&scene.database, &settings);
    let _member = Member::join(&lost, &["red"]).await;
    let connection = scene.a.connect().await;
    let made = new_entity(&scene.doc, &json!({"n": 1}));
    let failed = connection.fails("EntityCreateRequest", made).await;
    assert_eq!(failed, "DISPATCH_FORWARD_FAILED");
    until_said(&scene.a, "is node foreign of another cluster").await;
    until_said(&foreign, "node a belongs to another cluster").await;
}

#[tokio::test]
async fn a_node_whose_address_is_that_of_another_is_named() {
    let scene = scene().await;
    let wrong = scene.a.grpc.to_string();
    let settings = [
        ("CYODA_CLUSTER_ENABLED", "true"),
        ("CYODA_NODE_ID", "lost"),
        ("CYODA_HMAC_SECRET", SECRET),
        ("CYODA_GRPC_NODE_ADDR", wrong.as_str()),
    ];
    let lost = process(&scene.database, &settings);
    let _member = Member::join(&lost, &["red"]).await;
    for node in [&scene.a, &scene.b] {
        let connection = node.connect().await;
        let made = new_entity(&scene.doc, &json!({"n": 1}));
        let failed = connection.fails("EntityCreateRequest", made).await;
        assert_eq!(failed, "DISPATCH_FORWARD_FAILED");
    }
    let advice = "set CYODA_GRPC_NODE_ADDR of node lost";
    for (node, found) in [(&scene.a, "this node itself"), (&scene.b, "is node a;")] {
        until_said(node, advice).await;
        assert!(node.logged().contains(found), "{}", node.logged());
    }
}
