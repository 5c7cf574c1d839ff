//! What one process does, and another one has to know of.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{LIVE, becomes, node, node_with, timed};
use crate::support::{
    Connection, Member, PATIENCE, Reply, Rest, Server, backend, code, create,
    database::Database,
    governed_model, locked_model, new_entity,
    scene::{automated, processor, states},
    wait::found,
};

/// Two processes over a database.
async fn two(settings: &[(&str, &str)]) -> (Database, [Server; 2]) {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let nodes = [node_with(&url, settings), node_with(&url, settings)];
    becomes(&database, LIVE, "2", PATIENCE).await;
    (database, nodes)
}

async fn incidents(connection: &Connection) -> Vec<Value> {
    let found = connection.ok("IncidentsGetRequest", json!({})).await;
    found["items"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_timer_never_has_the_key_of_one_that_is_gone() {
    const KEY: &str = "select k from task";
    let (database, nodes) = two(&[]).await;
    let (here, other) = (nodes[0].connect().await, nodes[1].connect().await);
    let workflow = json!({"version": "1", "name": "short", "initialState": "A", "states": {
        "A": {"transitions": [
            {"name": "STOP", "next": "C", "manual": true},
            {"name": "GO", "next": "B", "manual": false, "schedule": {"delayMs": 3_000}},
        ]},
        "B": {"transitions": []},
        "C": {"transitions": []},
    }});
    let short = governed_model(&here, "short", json!({"n": 1}), workflow).await;
    let long = timed(&here, Duration::from_hours(1)).await;
    let plain = locked_model(&here, "plain", json!({"n": 1})).await;
    let first = create(&here, &short, json!({"n": 1})).await;
    let key: i64 = database.execute(KEY).parse().expect("a key");
    let stop = json!({"entityId": first, "transition": "STOP"});
    here.ok("EntityTransitionRequest", stop).await;
    create(&other, &plain, json!({"n": 1})).await;
    create(&here, &long, json!({"n": 1})).await;
    let later: i64 = database.execute(KEY).parse().expect("a key");
    assert!(later > key, "{later} after {key}");
}

#[tokio::test]
async fn an_incident_that_is_retried_at_another_process_is_worked_on() {
    let quickly = [
        ("CYODA_SCHEDULER_REDISPATCH_BACKOFF", "10ms"),
        ("INTERLOCK_RETRY_PAUSE", "1ms"),
    ];
    let (database, nodes) = two(&quickly).await;
    let connections = [nodes[0].connect().await, nodes[1].connect().await];
    let model = timed(&connections[0], Duration::from_secs(1)).await;
    create(&connections[0], &model, json!({"n": 1})).await;
    let body = database.execute("select body from task");
    database.execute("update task set body = '[]'");
    let incident = found("an incident", async || {
        incidents(&connections[0]).await.pop()
    })
    .await;
    database.execute(&format!("update task set body = $b${body}$b$"));
    let owner = database.execute("select owner from task");
    let first = database.execute("select min(i) from node");
    let other = &connections[usize::from(owner == first)];
    let asked = json!({"incidentId": incident["incidentId"]});
    other.ok("IncidentRetryRequest", asked).await;
    becomes(&database, super::IN_B, "1", PATIENCE).await;
    assert!(incidents(other).await.is_empty());
}

#[tokio::test]
async fn requests_do_not_wait_for_a_table_that_is_locked() {
    const LOCK: &str = "begin; lock table run in access exclusive mode; select 1";
    let (database, nodes) = two(&[]).await;
    let (here, other) = (nodes[0].connect().await, nodes[1].connect().await);
    let model = locked_model(&here, "doc", json!({"n": 1})).await;
    let entity = create(&here, &model, json!({"n": 1})).await;
    let document = "kind: Workflow\nname: w\nversion: \"1\"\nstart:\n  waitForSignal: {type: never}\n  transitions: {success: flo.Completed}\n";
    let defined = json!({"document": document});
    other.ok("RunDefinitionCreateRequest", defined).await;
    let started = json!({"definition": "w", "input": {}});
    other.ok("RunStartRequest", started).await;
    let mut holder = database.idle_client(LOCK);
    // The count of runs, which a pulse asks for once a second, waits for the lock.
    let asked = "select count(*) from pg_locks where not granted";
    found("something waits", async || {
        (database.execute(asked) != "0").then_some(())
    })
    .await;
    for _ in 0..3 {
        let read = json!({"entityId": entity});
        let answered = here.call("EntityGetRequest", read);
        let answer = tokio::time::timeout(Duration::from_secs(10), answered).await;
        let answer = answer.expect("in time");
        let is_known = answer["success"] == true || code(&answer) == "STORAGE_UNAVAILABLE";
        assert!(is_known, "{answer}");
    }
    drop(holder.stdin.take());
    holder.wait().expect("ends");
}

#[tokio::test]
async fn a_process_beats_while_its_reads_wait_for_a_table_that_is_locked() {
    const LOCK: &str = "begin; lock table message in access exclusive mode; select 1";
    let database = Database::new(backend::migrate);
    let node = node(&database.url());
    let connection = node.connect().await;
    let message = json!({"header": {"subject": "s", "contentType": "application/json", "contentLength": 1}, "payload": {"a": 1}});
    let made = connection.ok("MessageCreateRequest", message).await;
    let read = json!({"messageId": made["entityIds"][0]});
    connection.ok("MessageGetRequest", read.clone()).await;
    let mut holder = database.idle_client(LOCK);
    // More than the process has connections that read.
    let reads = (0..12).map(|_| connection.call("MessageGetRequest", read.clone()));
    let beating = async {
        becomes(
            &database,
            "select count(*) >= 4 from pg_locks where not granted",
            "t",
            PATIENCE,
        )
        .await;
        let beat: i64 = database
            .execute("select beat from node")
            .parse()
            .expect("a time");
        let later = format!("select beat > {beat} + 1500000 from node");
        becomes(&database, &later, "t", Duration::from_secs(4)).await;
    };
    let (answers, ()) = tokio::join!(join_all(reads), beating);
    for answer in answers {
        assert_eq!(code(&answer), "STORAGE_UNAVAILABLE", "{answer}");
    }
    drop(holder.stdin.take());
    holder.wait().expect("ends");
}

#[tokio::test]
async fn a_process_that_was_away_for_many_commits_catches_up() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let nodes = [node(&url), node(&url)];
    becomes(&database, LIVE, "2", PATIENCE).await;
    let (here, other) = (nodes[0].connect().await, nodes[1].connect().await);
    let model = locked_model(&here, "doc", json!({"n": 1})).await;
    let entity = create(&here, &model, json!({"n": 1})).await;
    let read = json!({"entityId": entity});
    here.ok("EntityGetRequest", read.clone()).await;
    nodes[0].freeze();
    let changed = json!({"dataFormat": "JSON", "payload": {"entityId": entity, "data": {"n": 2}}});
    other.ok("EntityUpdateRequest", changed).await;
    // More than are read at once, more than once.
    database.execute(
        "insert into \"commit\"(seq, id, t, at, author, rev, server, news)
         select c.seq + i, gen_random_uuid(), c.t, c.at + i, c.author, c.rev, c.server, '{}'
         from (select * from \"commit\" order by seq desc limit 1) c, generate_series(1, 180000) i",
    );
    nodes[0].signal("-CONT");
    let found = found("it reads again", async || {
        let answer = here.call("EntityGetRequest", read.clone()).await;
        (answer["success"] == true).then_some(answer)
    })
    .await;
    assert_eq!(found["payload"]["data"]["n"], 2, "{found}");
    create(&here, &model, json!({"n": 3})).await;
    let ready = Rest::new(nodes[0].admin).get("/readyz").await;
    assert_eq!(ready.status, 200);
}

#[tokio::test]
async fn a_repeat_that_comes_at_the_same_time_is_answered_like_the_first() {
    let (_database, nodes) = two(&[]).await;
    let connections = [nodes[0].connect().await, nodes[1].connect().await];
    for round in 0..12 {
        let (path, key) = (format!("/{round}.json"), format!("key-{round}"));
        let asked = json!({"path": path, "content": {"n": round}, "ifMatch": ""});
        let attributes = [("idempotencykey", key.as_str())];
        let puts = (0..6).map(|place| {
            let connection = &connections[place % 2];
            connection.call_with("FilePutRequest", asked.clone(), &attributes)
        });
        for answer in join_all(puts).await {
            assert_eq!(answer["success"], true, "{answer}");
        }
        let deletions = (0..6).map(|place| {
            let attributes = [("idempotencykey", path.as_str())];
            let (connection, asked) = (&connections[place % 2], json!({"path": path}));
            async move {
                let answer = connection.call_with("FileDeleteRequest", asked, &attributes);
                answer.await
            }
        });
        for answer in join_all(deletions).await {
            assert_eq!(answer["success"], true, "{answer}");
        }
    }
}

#[tokio::test]
async fn a_background_search_whose_key_comes_to_two_processes_at_once_is_started_once() {
    const ROUNDS: usize = 20;
    let (database, nodes) = two(&[]).await;
    let connections = [nodes[0].connect().await, nodes[1].connect().await];
    let model = locked_model(&connections[0], "doc", json!({"n": 1})).await;
    let condition =
        json!({"type": "simple", "jsonPath": "$.n", "operatorType": "EQUALS", "value": 1});
    let search = json!({"model": model, "condition": condition});
    for round in 0..ROUNDS {
        let key = format!("search-{round}");
        let attributes = [("idempotencykey", key.as_str())];
        let [one, two] = &connections;
        let ask = async |connection: &Connection| {
            let asked =
                connection.call_with("EntitySnapshotSearchRequest", search.clone(), &attributes);
            asked.await
        };
        let (one, two) = tokio::join!(ask(one), ask(two));
        assert_eq!(one["success"], true, "{one}");
        assert_eq!(one["status"]["snapshotId"], two["status"]["snapshotId"]);
    }
    let jobs = database.execute("select count(*) from search_job");
    assert_eq!(jobs, ROUNDS.to_string());
    // Nor does one of them replace what is stored for a request of another kind.
    for round in 0..ROUNDS {
        let key = format!("other-{round}");
        let attributes = [("idempotencykey", key.as_str())];
        let file = json!({"path": format!("/{round}.json"), "content": {"n": round}});
        let (put, searched) = tokio::join!(
            connections[0].call_with("FilePutRequest", file, &attributes),
            connections[1].call_with("EntitySnapshotSearchRequest", search.clone(), &attributes),
        );
        let refused = match (put["success"] == true, searched["success"] == true) {
            (true, false) => searched,
            (false, true) => put,
            _ => panic!("one of {put} and {searched} is refused"),
        };
        let is_named = ["IDEMPOTENCY_CONFLICT", "CONFLICT"].contains(&code(&refused).as_str());
        assert!(is_named, "{refused}");
    }
}

#[tokio::test]
async fn a_request_whose_member_fails_after_a_commit_succeeds_nowhere() {
    const KIND: &str = "EntityCreateRequest";
    let (_database, nodes) = two(&[]).await;
    let (here, other) = (nodes[0].connect().await, nodes[1].connect().await);
    let workflow = states(json!({
        "A": [automated("GO", "B", processor("COMMIT_BEFORE_DISPATCH", json!({})))], "B": []}));
    let model = governed_model(&here, "doc", json!({"n": 1}), workflow).await;
    let member = Member::join(&nodes[0], &[]).await;
    let refusing = Member::join(&nodes[1], &[]).await;
    refusing.serve(|_, _| async { Reply::Failure("no") });
    let ask = async |connection: &Connection, key: &str| {
        let made = new_entity(&model, &json!({"n": 1}));
        let attributes = [("idempotencykey", key)];
        connection.call_with(KIND, made, &attributes).await
    };
    // A repeat comes to another process while the first one has committed a part.
    let both = async |key: &'static str, reply: Reply| {
        let meanwhile = async {
            let call = member.next().await;
            let ((), repeat) = tokio::join!(member.reply(&call, reply), ask(&other, key));
            repeat
        };
        tokio::join!(ask(&here, key), meanwhile)
    };
    let (first, repeat) = both("refused", Reply::Failure("no")).await;
    assert_eq!(code(&first), "WORKFLOW_FAILED");
    assert_eq!(code(&repeat), "WORKFLOW_FAILED");
    let (first, repeat) = both("done", Reply::Data(json!({"n": 2}))).await;
    assert_eq!(first["success"], true, "{first}");
    assert_eq!(repeat["transactionInfo"], first["transactionInfo"]);
}

#[tokio::test]
async fn a_field_gets_one_kind_of_value_whichever_process_extends_the_model() {
    let (_database, nodes) = two(&[]).await;
    let (here, other) = (nodes[0].connect().await, nodes[1].connect().await);
    let model = locked_model(&here, "doc", json!({"n": 1})).await;
    let level = json!({"model": model, "changeLevel": "STRUCTURAL"});
    here.ok("EntityModelSetChangeLevelRequest", level).await;
    for n in 0..20 {
        let make = async |connection: &Connection, value: Value| {
            let made = new_entity(&model, &json!({format!("f{n}"): value}));
            connection.call("EntityCreateRequest", made).await
        };
        let (one, two) = tokio::join!(make(&here, json!(1)), make(&other, json!({"o": 1})));
        let refused = match (one["success"] == true, two["success"] == true) {
            (true, false) => two,
            (false, true) => one,
            _ => panic!("one of {one} and {two} is refused"),
        };
        assert_eq!(code(&refused), "POLYMORPHIC_SLOT");
    }
}
