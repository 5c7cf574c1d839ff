//! Connectors to databases: `PostgreSQL` (`orchestration.md` 2.3 and 2.6).

use std::time::Duration;

use interlock::connector::{CallFailed, MirrorRow, MirrorTable, RowCall, Settings};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    connectors::{Caller, connector, json_of, refused},
    support::{PATIENCE, postgres::Postgres},
};

const ORDERS: &str = "CREATE TYPE mood AS ENUM ('good', 'bad');
    CREATE TABLE orders (id bigserial PRIMARY KEY, status text, user_id int UNIQUE, price numeric(30,10),
        made timestamptz, day date, feeling mood, tags text[], anything jsonb, bytes bytea, ok bool)";

/// Its commits take longer than calls of two seconds may, and the server does not limit them.
pub(crate) const SLOW_COMMITS: &str = "CREATE TABLE slow (id bigserial PRIMARY KEY, v text);
    CREATE FUNCTION unlimited() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM set_config('statement_timeout', '0', true); RETURN NEW; END $$;
    CREATE FUNCTION rests() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(2.5); RETURN NULL; END $$;
    CREATE TRIGGER first BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION unlimited();
    CREATE CONSTRAINT TRIGGER last AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION rests();";

fn config(server: &Postgres) -> Value {
    json!({"type": "database", "driver": "postgres", "host": "127.0.0.1", "port": server.port,
        "database": "postgres", "user": "postgres", "password": "not asked for"})
}

#[tokio::test]
async fn rows_of_every_type_are_written_read_and_deleted_with_their_digits() {
    let server = Postgres::start();
    server.execute(ORDERS);
    let (caller, orders) = (Caller::new(), connector(config(&server)));
    let row = caller.call_text(
        &orders,
        r#"{"operation":"INSERT","target":"orders","payload":{"id":9007199254740993,
            "status":"x'); DROP TABLE orders; --","user_id":7,"price":12345678901234567890.1234567890,
            "made":"2026-11-23T10:00:00.5Z","day":"2026-11-23","feeling":"good","tags":["a","b,\"c"],
            "anything":{"b":1.50,"a":[true,null]},"bytes":"\\x00ff","ok":true}}"#,
    );
    let row = row.await.expect("a row");
    for part in [
        r#""id":9007199254740993"#,
        r#""status":"x'); DROP TABLE orders; --""#,
        r#""price":12345678901234567890.1234567890"#,
        r#""made":"2026-11-23T10:00:00.5+00:00""#,
        r#""day":"2026-11-23""#,
        r#""feeling":"good""#,
        r#""tags":["a","b,\"c"]"#,
        r#""b": 1.50"#,
        r#""bytes":"\\x00ff""#,
        r#""ok":true"#,
    ] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let call = |request: Value| caller.call(&orders, request);
    let many = call(json!({"operation": "INSERT", "target": "public.orders",
        "payload": [{"user_id": 8, "anything": "text"}, {"user_id": 9}]}));
    assert_eq!(json_of(many.await)["anything"], "text");
    let query = call(
        json!({"operation": "SELECT", "params": {"least": 8, "feeling": "good"},
        "query": "SELECT count(*) AS n FROM orders WHERE user_id >= :least OR feeling = :feeling -- all"}),
    );
    assert_eq!(json_of(query.await), json!({"n": 3}));
    let moved = call(
        json!({"operation": "UPDATE_ONE", "target": "orders", "payload": {"status": "paid"},
        "set": {"price": {"$column": "price", "$op": "-", "$value": 0.5}}, "where": {"user_id": 7}}),
    );
    assert!(
        moved
            .await
            .expect("a row")
            .contains(r#""price":12345678901234567889.6234567890"#)
    );
    let computed = call(json!({"operation": "UPDATE", "target": "orders",
        "set": {"status": "x", "user_id": {"$compute": "double user_id"}}, "where": {"user_id": 8}}));
    assert_eq!(json_of(computed.await)["user_id"], 16);
    let put = call(json!({"operation": "UPSERT", "target": "orders",
        "payload": {"user_id": 16, "status": "again"}, "where": {"user_id": 16}}));
    assert_eq!(json_of(put.await)["status"], "again");
    let gone =
        call(json!({"operation": "DELETE_MANY", "target": "orders", "where": {"feeling": "good"}}));
    assert_eq!(json_of(gone.await)["user_id"], 7);
    let none = call(json!({"operation": "DELETE", "target": "orders", "where": {"user_id": 7}}));
    assert_eq!(json_of(none.await), json!({"affected": 0, "id": null}));
    for (request, expected) in [
        (
            json!({"operation": "DELETE", "target": "orders", "where": {"nope": "nope"}}),
            "does not exist",
        ),
        (
            json!({"operation": "INSERT", "target": "orders", "payload": {"user_id": "seven"}}),
            "integer",
        ),
        (
            json!({"operation": "INSERT", "target": "orders", "payload": [{"user_id": 50}, {"user_id": 9}]}),
            "duplicate key",
        ),
        (
            json!({"operation": "SELECT", "query": "WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d"}),
            "top level",
        ),
        (
            json!({"operation": "SELECT", "query": "SELECT 1) q; DELETE FROM orders; --"}),
            "one statement",
        ),
        (
            json!({"operation": "SELECT", "query": "SELECT generate_series(1, 20000)"}),
            "more than",
        ),
    ] {
        let message = refused(call(request.clone()).await);
        assert!(message.contains(expected), "{request}: {message}");
    }
    assert_eq!(server.execute("SELECT count(*) FROM orders"), "2");
}

#[tokio::test]
async fn a_query_writes_nothing_by_a_function_either() {
    let server = Postgres::start();
    server.execute(
        "CREATE TABLE noted (n int);
        CREATE FUNCTION note(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO noted VALUES (n) RETURNING n'",
    );
    let (caller, database) = (Caller::new(), connector(config(&server)));
    let call = |request: Value| caller.call(&database, request);
    let note = json!({"operation": "SELECT", "query": "SELECT note(:n)", "params": {"n": 1}});
    let message = refused(call(note).await);
    assert!(message.contains("read-only"), "{message}");
    // The connection writes again.
    let insert = json!({"operation": "INSERT", "target": "noted", "payload": {"n": 2}});
    assert_eq!(json_of(call(insert).await)["n"], 2);
    assert_eq!(server.execute("SELECT n FROM noted"), "2");
}

#[tokio::test]
async fn values_are_of_the_types_that_columns_have_now() {
    let server = Postgres::start();
    server.execute("CREATE TABLE s (id int PRIMARY KEY, at timestamp, amount int)");
    let (caller, database) = (Caller::new(), connector(config(&server)));
    let put = |amount: i64| {
        caller.call(
            &database,
            json!({"operation": "UPSERT", "target": "s", "payload":
                {"id": 1, "at": "2024-01-01T00:00:00+05:00", "amount": amount}}),
        )
    };
    assert_eq!(json_of(put(1).await)["at"], "2024-01-01T00:00:00");
    server
        .execute("ALTER TABLE s ALTER COLUMN at TYPE timestamptz, ALTER COLUMN amount TYPE bigint");
    let row = json_of(put(5_000_000_000).await);
    assert_eq!(row["at"], "2023-12-31T19:00:00+00:00");
    assert_eq!(row["amount"], 5_000_000_000_i64);
}

#[tokio::test]
async fn texts_of_a_fixed_length_are_whole_and_rows_of_partitions_are_told_apart() {
    let server = Postgres::start();
    server.execute(
        "CREATE TABLE cur (id char(36), code char(3), bits bit(4), st text);
        CREATE TABLE part (id int, n int) PARTITION BY LIST (id);
        CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1);
        CREATE TABLE part2 PARTITION OF part FOR VALUES IN (2);
        INSERT INTO part VALUES (1, 10), (2, 100);",
    );
    let (caller, database) = (Caller::new(), connector(config(&server)));
    let call = |request: Value| caller.call(&database, request);
    let id = "aaaaaaaa-0000-0000-0000-000000000001";
    for (id, code) in [(id, "EUR"), ("b", "E")] {
        let insert = call(json!({"operation": "INSERT", "target": "cur",
            "payload": {"id": id, "code": code, "bits": "1010"}}));
        assert_eq!(json_of(insert.await)["bits"], "1010");
    }
    let paid = call(json!({"operation": "UPDATE", "target": "cur",
        "payload": {"st": "paid"}, "where": {"code": "EUR"}}));
    assert_eq!(json_of(paid.await)["id"], id);
    let found = call(json!({"operation": "GET", "target": "cur", "params": {"id": id}}));
    assert_eq!(json_of(found.await)["code"], "EUR");
    let computed = call(
        json!({"operation": "UPDATE_ONE", "target": "part", "where": {"id": 1},
        "set": {"n": {"$compute": "double n"}}}),
    );
    assert_eq!(json_of(computed.await)["n"], 20);
    assert_eq!(server.execute("SELECT n FROM part WHERE id = 2"), "100");
    let huge = call(json!({"operation": "SELECT", "query": "SELECT repeat('x', 3000000) AS r"}));
    assert!(refused(huge.await).contains("more than"));
}

#[tokio::test]
async fn a_row_moves_on_and_the_mirror_is_written() {
    let server = Postgres::start();
    server.execute(ORDERS);
    server.execute("INSERT INTO orders (id, status) VALUES (1, 'pending')");
    let (caller, orders) = (Caller::new(), connector(config(&server)));
    let cancel = CancellationToken::new();
    let open = |timeout| {
        caller.connectors.row(RowCall {
            tenant: &caller.tenant,
            connector: &orders,
            table: "orders",
            id: "\"1\"",
            timeout,
            cancel: &cancel,
        })
    };
    let row = open(PATIENCE).await.expect("a row");
    assert_eq!(row.status().as_deref(), Some("pending"));
    let second = open(Duration::from_millis(50)).await;
    assert!(matches!(second, Err(CallFailed::TimedOut(_))), "{second:?}");
    row.finish("paid").await.expect("moves on");
    let row = open(PATIENCE).await.expect("a row");
    assert_eq!(row.status().as_deref(), Some("paid"));
    drop(row);
    assert_eq!(server.execute("SELECT status FROM orders"), "paid");
    let table = || MirrorTable {
        tenant: &caller.tenant,
        connector: &orders,
        table: "mycel_workflows",
        timeout: PATIENCE,
        cancel: &cancel,
    };
    let row = MirrorRow {
        id: "wf_1",
        saga_name: "create_order",
        status: "paused",
        input: r#"{"amount":99.990}"#,
        step_results: "{}",
        resume_at: Some("2026-11-24T10:00:00Z"),
        created_at: "2026-11-23T10:00:00Z",
        updated_at: "2026-11-23T10:00:00Z",
        ..MirrorRow::default()
    };
    caller
        .connectors
        .mirror(table(), true, &row)
        .await
        .expect("made and written");
    caller
        .connectors
        .mirror(table(), true, &row)
        .await
        .expect("written again");
    assert_eq!(
        server.execute("SELECT status, input, resume_at FROM mycel_workflows"),
        r#"paused|{"amount": 99.990}|2026-11-24 10:00:00+00"#
    );
    let count = "SELECT count(*) FROM pg_indexes WHERE tablename = 'mycel_workflows'";
    assert_eq!(server.execute(count), "4");
}

#[tokio::test]
async fn a_server_that_restarts_hangs_or_is_private_is_a_failure_of_one_call() {
    let server = Postgres::start();
    let (caller, orders) = (Caller::new(), connector(config(&server)));
    let read = json!({"operation": "SELECT", "query": "SELECT 1 AS one"});
    assert_eq!(
        json_of(caller.call(&orders, read.clone()).await),
        json!({"one": 1})
    );
    server.restart();
    // The connection is lost; one of the next calls makes another.
    let again = async { while caller.call(&orders, read.clone()).await.is_err() {} };
    tokio::time::timeout(PATIENCE, again)
        .await
        .expect("connects again");
    let hang = json!({"operation": "SELECT", "query": "SELECT pg_sleep(60)::text"}).to_string();
    let limit = Duration::from_millis(50);
    for _ in 0..6 {
        let late = caller
            .bounded(&orders, &hang, limit, &CancellationToken::new())
            .await;
        assert_eq!(late, Err(CallFailed::TimedOut(limit)));
    }
    assert_eq!(
        json_of(caller.call(&orders, read.clone()).await),
        json!({"one": 1})
    );
    let mut brief = config(&server);
    brief["timeout"] = json!(200);
    let late = caller.call_text(&connector(brief), &hang).await;
    assert!(late.is_err(), "{late:?}");
    let limited = Caller::with(Settings::default());
    let blocked = limited
        .call(&connector(config(&server)), read.clone())
        .await;
    assert!(
        matches!(&blocked, Err(CallFailed::Unavailable { message }) if message.contains("public internet") && !message.contains("is at")),
        "{blocked:?}"
    );
    let mut unknown = config(&server);
    unknown["database"] = json!("nothing");
    let came = caller.call(&connector(unknown), read.clone()).await;
    assert!(
        matches!(came, Err(CallFailed::Unavailable { .. })),
        "{came:?}"
    );
    drop(server);
    let came = caller.call(&orders, read).await;
    assert!(
        matches!(came, Err(CallFailed::Unavailable { .. })),
        "{came:?}"
    );
}

#[tokio::test]
async fn a_commit_that_has_begun_is_waited_for_beyond_the_time_limit() {
    let server = Postgres::start();
    server.execute(SLOW_COMMITS);
    let mut brief = config(&server);
    brief["timeout"] = json!(2_000);
    let insert = json!({"operation": "INSERT", "target": "slow", "payload": {"v": "x"}});
    let written = Caller::new().call(&connector(brief), insert).await;
    assert_eq!(json_of(written), json!({"id": 1, "v": "x"}));
    assert_eq!(server.execute("SELECT count(*) FROM slow"), "1");
}

#[tokio::test]
async fn a_write_that_is_given_up_before_its_commit_says_that_nothing_was_changed() {
    let server = Postgres::start();
    server.execute(ORDERS);
    server.execute("INSERT INTO orders (id, status) VALUES (1, 'pending')");
    let (caller, patient) = (Caller::new(), connector(config(&server)));
    let row = RowCall {
        tenant: &caller.tenant,
        connector: &patient,
        table: "orders",
        id: "1",
        timeout: PATIENCE,
        cancel: &CancellationToken::new(),
    };
    let held = caller.connectors.row(row).await.expect("a row");
    let mut brief = config(&server);
    brief["timeout"] = json!(500);
    let pay = json!({"operation": "UPDATE", "target": "orders", "where": {"id": 1},
        "payload": {"status": "paid"}});
    let late = caller.call(&connector(brief), pay).await;
    // The server has the same limit.
    assert!(
        matches!(
            late,
            Err(CallFailed::NothingDone(_) | CallFailed::Failed { .. })
        ),
        "{late:?}"
    );
    drop(held);
    let last = json!({"operation": "UPDATE", "target": "orders", "where": {"id": 1},
        "payload": {"day": "2026-11-23"}});
    assert_eq!(
        json_of(caller.call(&patient, last).await)["status"],
        "pending"
    );
}

#[tokio::test]
async fn a_read_succeeds_although_the_connections_that_were_kept_have_ended() {
    let server = Postgres::start();
    let (caller, shop) = (Caller::new(), connector(config(&server)));
    let slow = || {
        let read = json!({"operation": "SELECT", "query": "SELECT pg_sleep(0.2)::text AS s"});
        Box::pin(caller.call(&shop, read))
    };
    for came in futures_util::future::join_all([slow(), slow(), slow()]).await {
        came.expect("a row");
    }
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'interlock'",
    );
    let read = json!({"operation": "SELECT", "query": "SELECT 1 AS one"});
    assert_eq!(json_of(caller.call(&shop, read).await), json!({"one": 1}));
}

#[tokio::test]
async fn a_time_limit_of_a_month_is_one_that_the_server_accepts() {
    let server = Postgres::start();
    let mut patient = config(&server);
    patient["timeout"] = json!(2_592_000_000_u64);
    let read = json!({"operation": "SELECT", "query": "SELECT 1 AS one"});
    let came = Caller::new().call(&connector(patient), read).await;
    assert_eq!(json_of(came), json!({"one": 1}));
}
