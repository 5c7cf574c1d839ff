//! A standby takes over from a primary that was killed (`help/design/storage.md` §13).

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::{
    Connection, PATIENCE, Rest, Server, backend, create, exactly, get, locked_model,
    lossy::try_call,
    new_entity, payload_of,
    postgres::Postgres,
    relay::{Passage, Relay},
    request,
    wait::{found, until},
};

/// So many positions, and more, the first commit on another server leaves out here: it has the time.
const SKIPPED: i64 = 1 << 30;

/// A service over a primary and its standby.
fn service(primary: &Postgres, standby: &Postgres) -> Server {
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?sslmode=disable",
        primary.port, standby.port
    );
    Server::on_disk(&[
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url.as_str()),
    ])
}

fn migrate(primary: &Postgres) {
    backend::migrate(&format!(
        "postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable",
        primary.port
    ));
}

/// The changes of a feed up to one of a transaction: position, entity and transaction.
async fn feed(connection: &Connection, last: &str) -> Vec<(i64, String, String)> {
    let all = request(
        "EntityChangesSubscribeRequest",
        &connection.fresh_id(),
        json!({"fromSequence": 0}),
    );
    let mut answers = connection.begin(all).await;
    let mut changes = Vec::new();
    loop {
        let next = timeout(PATIENCE, answers.recv()).await;
        let change = payload_of(&next.expect("a change in time").expect("a change"));
        assert_eq!(change["success"], true, "{change}");
        let text = |name: &str| change[name].as_str().expect("a text").to_owned();
        let transaction = text("transactionId");
        let is_last = transaction == last;
        changes.push((
            change["sequence"].as_i64().expect("a number"),
            text("entityId"),
            transaction,
        ));
        if is_last {
            return changes;
        }
    }
}

/// What was acknowledged: the entity and the transaction.
type Acknowledged = Arc<Mutex<Vec<(String, String)>>>;

fn of(answer: &Value) -> (String, String) {
    let info = &answer["transactionInfo"];
    let text = |value: &Value| value.as_str().expect("an id").to_owned();
    (text(&info["entityIds"][0]), text(&info["transactionId"]))
}

/// Creates entities until it is aborted.
async fn write(connection: Connection, model: Value, acknowledged: Acknowledged) {
    loop {
        let payload = new_entity(&model, &json!({"n": 1}));
        let answer = try_call(&connection, "EntityCreateRequest", payload, None).await;
        let answer = answer.expect("the service stays");
        if answer["success"] == true {
            acknowledged.lock().expect("no panic").push(of(&answer));
        } else {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "the time it takes can be looked at")]
async fn nothing_acknowledged_is_lost_when_a_synchronous_standby_takes_over() {
    let primary = Postgres::start();
    migrate(&primary);
    let standby = Postgres::standby_of(primary.port);
    primary.execute("alter system set synchronous_standby_names = 'standby'");
    primary.execute("select pg_reload_conf()");
    until("the standby is synchronous", async || {
        primary.execute("select sync_state from pg_stat_replication") == "sync"
    })
    .await;
    let servers = [service(&primary, &standby), service(&primary, &standby)];
    let model = locked_model(&servers[0].connect().await, "m", json!({"n": 1})).await;
    let acknowledged = Acknowledged::default();
    let count = || acknowledged.lock().expect("no panic").len();
    let mut writing = Vec::new();
    for server in servers.iter().chain(&servers) {
        let (connection, model) = (server.connect().await, model.clone());
        let work = write(connection, model, Arc::clone(&acknowledged));
        writing.push(tokio::spawn(work));
    }
    until("something is written", async || count() > 100).await;
    primary.kill();
    let before = count();
    standby.promote();
    let promoted = Instant::now();
    until("something is written again", async || {
        count() > before + 100
    })
    .await;
    let again = promoted.elapsed();
    writing.iter().for_each(tokio::task::JoinHandle::abort);
    let mut feeds = Vec::new();
    let connection = servers[0].connect().await;
    // The other one may have been the first to write again.
    let last = found("this one writes again, too", async || {
        let payload = new_entity(&model, &json!({"n": 2}));
        let answer = connection.call("EntityCreateRequest", payload).await;
        (answer["success"] == true).then(|| of(&answer))
    })
    .await;
    for server in &servers {
        let connection = server.connect().await;
        feeds.push(feed(&connection, &last.1).await);
        get(&connection, &last.0).await;
    }
    assert_eq!(feeds[0], feeds[1]);
    assert!(feeds[0].is_sorted_by(|one, next| one.0 < next.0));
    let there: HashSet<_> = feeds[0]
        .iter()
        .map(|change| (&change.1, &change.2))
        .collect();
    let acknowledged = acknowledged.lock().expect("no panic").clone();
    for (entity, transaction) in &acknowledged {
        assert!(there.contains(&(entity, transaction)), "{entity} is lost");
    }
    let skips = feeds[0]
        .windows(2)
        .filter(|pair| pair[1].0 - pair[0].0 > SKIPPED);
    assert_eq!(
        skips.count(),
        1,
        "the first commit of the new primary skips positions"
    );
    for server in &servers {
        assert!(
            !server.logged().contains("lacks commits"),
            "nothing is missed"
        );
    }
    println!(
        "{} acknowledged creates, none lost; written again {again:.1?} after the promotion",
        acknowledged.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_standby_lacks_is_said_and_no_position_is_used_twice() {
    lose(false).await;
}

/// The standby lacks the first commit after the restart, too.
#[tokio::test(flavor = "multi_thread")]
async fn no_position_of_a_primary_that_was_restarted_is_used_twice() {
    lose(true).await;
}

/// Ends connections of services to a server, those that have executed such a statement last.
fn break_connections(server: &Postgres, statement: &str) {
    server.execute(&format!(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where application_name = 'interlock' and query ilike '{statement}'"
    ));
}

fn entities_of(server: &Postgres) -> String {
    server.execute("select count(*) from entity")
}

/// Waits until a standby has what its primary has written so far.
async fn caught_up(primary: &Postgres, standby: &Postgres) {
    let place = primary.execute("select pg_current_wal_flush_lsn()");
    until("the standby has caught up", async || {
        let text = format!("select pg_last_wal_replay_lsn() >= '{place}'");
        standby.execute(&text) == "t"
    })
    .await;
}

/// How often a service has logged that it does not use an old primary.
fn old_primaries(server: &Server) -> usize {
    let said = server.logged();
    said.matches("this PostgreSQL server is an old primary")
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_primary_that_is_started_again_is_not_used() {
    let primary = Postgres::start();
    migrate(&primary);
    let standby = Postgres::standby_of(primary.port);
    let server = service(&primary, &standby);
    let connection = server.connect().await;
    let model = locked_model(&connection, "m", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    caught_up(&primary, &standby).await;
    primary.stop();
    standby.promote();
    let new = |n: i32| new_entity(&model, &json!({"n": n}));
    let after = of(&done(&connection, "EntityCreateRequest", new(2)).await).0;
    primary.restart();
    break_connections(&standby, "%");
    let get_after = || json!({"entityId": after});
    let read = done(&connection, "EntityGetRequest", get_after()).await;
    assert_eq!(read["payload"]["data"]["n"], 2);
    done(&connection, "EntityCreateRequest", new(3)).await;
    assert!(old_primaries(&server) <= 1, "{}", server.logged());
    // One that has not seen the new primary yet waits for the answers of both.
    let other = service(&primary, &standby);
    let connection = other.connect().await;
    let read = done(&connection, "EntityGetRequest", get_after()).await;
    assert_eq!(read["payload"]["data"]["n"], 2);
    done(&connection, "EntityCreateRequest", new(4)).await;
    assert_eq!(old_primaries(&other), 1, "{}", other.logged());
    assert_eq!(entities_of(&primary), "1");
    assert_eq!(entities_of(&standby), "4");
}

/// The old primary was never stopped, and one connection finds out.
#[tokio::test(flavor = "multi_thread")]
async fn all_connections_leave_a_primary_from_which_a_standby_has_taken_over() {
    let primary = Postgres::start();
    migrate(&primary);
    let standby = Postgres::standby_of(primary.port);
    let server = service(&primary, &standby);
    let connection = server.connect().await;
    let model = locked_model(&connection, "m", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    caught_up(&primary, &standby).await;
    standby.promote();
    let new = new_entity(&model, &json!({"n": 2}));
    let moved = found("a write goes to the new primary", async || {
        let answer = done(&connection, "EntityCreateRequest", new.clone()).await;
        if entities_of(&standby) == "2" {
            return Some(of(&answer).0);
        }
        break_connections(&primary, "listen%");
        None
    })
    .await;
    let before = entities_of(&primary);
    let read = done(&connection, "EntityGetRequest", json!({"entityId": moved})).await;
    assert_eq!(read["payload"]["data"]["n"], 2);
    done(&connection, "EntityCreateRequest", new).await;
    assert_eq!(entities_of(&primary), before);
    assert_eq!(entities_of(&standby), "3");
}

/// Asks until it is done: the first time a connection may turn out to be gone.
async fn done(connection: &Connection, kind: &str, payload: Value) -> Value {
    found("it is done", async || {
        let answer = connection.call(kind, payload.clone()).await;
        (answer["success"] == true).then_some(answer)
    })
    .await
}

/// A standby takes over that lacks commits; the primary may have been restarted before them.
async fn lose(is_restarted: bool) {
    let primary = Postgres::start();
    migrate(&primary);
    let relay = Relay::to(Some(primary.port)).await;
    let port = relay.port;
    let standby = tokio::task::spawn_blocking(move || Postgres::standby_of(port));
    let standby = standby.await.expect("no panic");
    let servers = [service(&primary, &standby), service(&primary, &standby)];
    let (one, other) = (servers[0].connect().await, servers[1].connect().await);
    let model = locked_model(&one, "m", json!({"n": 1})).await;
    let kept = create(&one, &model, json!({"n": 1})).await;
    caught_up(&primary, &standby).await;
    let newest = primary.execute("select max(seq) from \"commit\"");
    if is_restarted {
        // A connection that says nothing would hold up the end of the primary.
        relay.set(Passage::Cut);
        primary.restart();
    } else {
        relay.set(Passage::Silent);
    }
    let change =
        |n: i32| json!({"dataFormat": "JSON", "payload": {"entityId": kept, "data": {"n": n}}});
    done(&one, "EntityUpdateRequest", change(2)).await;
    let then = exactly(&get(&one, &kept).await["meta"]["lastUpdateTime"]);
    let then = json!({"entityId": kept, "pointInTime": then});
    one.ok("EntityUpdateRequest", change(4)).await;
    let lost = of(&done(
        &other,
        "EntityCreateRequest",
        new_entity(&model, &json!({"n": 3})),
    )
    .await);
    for connection in [&one, &other] {
        assert_eq!(get(connection, &kept).await["data"]["n"], 4);
        assert_eq!(get(connection, &lost.0).await["data"]["n"], 3);
        let replaced = connection.ok("EntityGetRequest", then.clone()).await;
        assert_eq!(replaced["payload"]["data"]["n"], 2);
    }
    let known: i64 = primary
        .execute("select max(seq) from \"commit\"")
        .parse()
        .expect("a number");
    primary.kill();
    standby.promote();
    for (server, connection) in servers.iter().zip([&one, &other]) {
        let read = done(connection, "EntityGetRequest", json!({"entityId": kept})).await;
        assert_eq!(read["payload"]["data"]["n"], 1, "the changes are lost");
        let read = done(connection, "EntityGetRequest", then.clone()).await;
        assert_eq!(read["payload"]["data"]["n"], 1, "at every time");
        let gone = json!({"entityId": lost.0});
        let gone = connection.fails("EntityGetRequest", gone).await;
        assert_eq!(gone, "ENTITY_NOT_FOUND");
        let said = server.logged();
        let line = said.lines().find(|line| line.contains("lacks commits"));
        let line = line.expect("the loss is logged");
        let from = newest.parse::<i64>().expect("a number") + 1;
        assert!(
            line.contains(&format!("from={from}")) && line.contains(&format!("until={known}")),
            "{line}"
        );
        let metrics = Rest::new(server.admin).get("/metrics").await.text;
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("interlock_positions_lost_total "));
        let expected = (known - from + 1).to_string();
        assert_eq!(count, Some(expected.as_str()));
    }
    let mut newest_made = lost;
    for (n, connection) in [&one, &other].into_iter().enumerate() {
        let again = new_entity(&model, &json!({"n": n}));
        newest_made = of(&done(connection, "EntityCreateRequest", again).await);
        get(&one, &newest_made.0).await;
        get(&other, &newest_made.0).await;
    }
    let feeds = [
        feed(&one, &newest_made.1).await,
        feed(&other, &newest_made.1).await,
    ];
    assert_eq!(feeds[0], feeds[1]);
    for change in &feeds[0][1..] {
        assert!(change.0 > known, "{change:?} after {known}");
        // Each is exact in the numbers of every language.
        assert!(change.0 < 1 << 53, "{change:?}");
    }
}
