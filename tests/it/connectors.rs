//! Connectors to databases: files of `SQLite`.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use interlock::{
    connector::{
        Call, CallFailed, Config, Connector, Connectors, Files, MirrorRow, MirrorTable, RowCall,
        Settings, Trust,
    },
    id::Tenant,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::support::PATIENCE;

/// Connectors of a test, and who calls them.
pub(crate) struct Caller {
    pub(crate) connectors: Connectors,
    pub(crate) tenant: Tenant,
}

/// What a call has come to: the result as text, or the failure.
pub(crate) type Came = Result<String, CallFailed>;

impl Caller {
    /// A caller whom no setting limits.
    pub(crate) fn new() -> Self {
        Self::with(Settings {
            private_networks: true,
            files: Files::Anywhere,
            ..Settings::default()
        })
    }

    pub(crate) fn with(settings: Settings) -> Self {
        Self {
            connectors: Connectors::new(settings),
            tenant: Tenant::from("acme"),
        }
    }

    pub(crate) async fn call(&self, connector: &Connector, request: Value) -> Came {
        self.call_text(connector, &request.to_string()).await
    }

    pub(crate) async fn call_text(&self, connector: &Connector, request: &str) -> Came {
        self.bounded(connector, request, PATIENCE, &CancellationToken::new())
            .await
    }

    pub(crate) async fn bounded(
        &self,
        connector: &Connector,
        request: &str,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Came {
        let never = CancellationToken::new();
        self.until(connector, request, timeout, cancel, &never)
            .await
    }

    /// A call that may be given up.
    pub(crate) async fn until(
        &self,
        connector: &Connector,
        request: &str,
        timeout: Duration,
        cancel: &CancellationToken,
        given_up: &CancellationToken,
    ) -> Came {
        let call = Call {
            tenant: &self.tenant,
            connector,
            request,
            idempotency_key: "wf_1:step:action",
            is_repeated: false,
            timeout,
            cancel,
            given_up,
            compute: &doubled,
        };
        let done = self.connectors.call(call).await;
        done.map(|result| result.to_string())
    }
}

/// In place of an evaluator: `double a` is twice the column `a` of the row.
fn doubled(expression: &str, values: &str, row: &str) -> Result<String, String> {
    let row: Value = serde_json::from_str(row).map_err(|error| error.to_string())?;
    let values: Value = serde_json::from_str(values).map_err(|error| error.to_string())?;
    let column = expression.strip_prefix("double ").ok_or("unknown")?;
    let column = row[column].as_i64().ok_or("no number")?;
    Ok((column * 2 + values["input"].as_i64().unwrap_or(0)).to_string())
}

/// A connector of this configuration.
pub(crate) fn connector(config: Value) -> Connector {
    of_trust(config, Trust::Uploaded)
}

pub(crate) fn of_trust(config: Value, trust: Trust) -> Connector {
    static KEYS: AtomicU32 = AtomicU32::new(0);
    let config: Config = serde_json::from_value(config).expect("a configuration");
    Connector {
        name: "outside".into(),
        key: KEYS.fetch_add(1, Ordering::Relaxed).to_string().into(),
        config,
        values: Vec::new(),
        trust,
    }
}

/// The JSON of a result.
pub(crate) fn json_of(came: Came) -> Value {
    serde_json::from_str(&came.expect("a result")).expect("JSON")
}

/// The message of a failure.
pub(crate) fn refused(came: Came) -> String {
    match came.expect_err("a failure") {
        CallFailed::Failed { message, .. } => message,
        other @ (CallFailed::Unavailable { .. }
        | CallFailed::Lost { .. }
        | CallFailed::Unusable { .. }
        | CallFailed::TimedOut(_)
        | CallFailed::NothingDone(_)
        | CallFailed::Cancelled
        | CallFailed::NotSent) => panic!("{other:?}"),
    }
}

const ORDERS: &str =
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, user_id INTEGER UNIQUE,
    price REAL, note TEXT, anything, bytes BLOB)";

fn file(folder: &Path) -> Connector {
    let path = folder.join("orders.db");
    let database = rusqlite::Connection::open(&path).expect("opens");
    database.execute_batch(ORDERS).expect("a table");
    connector(json!({"type": "database", "driver": "sqlite", "database": path}))
}

#[tokio::test]
async fn rows_are_inserted_read_updated_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let call = |request: Value| caller.call(&orders, request);
    let row = call(json!({"operation": "INSERT", "target": "orders",
        "payload": {"status": "pending", "user_id": 7}}));
    let row = json_of(row.await);
    assert_eq!(row["id"], 1);
    assert_eq!(row["status"], "pending");
    let many = call(json!({"operation": "INSERT_MANY", "target": "orders",
        "payload": [{"user_id": 8}, {"user_id": 9}]}));
    assert_eq!(json_of(many.await)["user_id"], 8);
    let one = call(json!({"operation": "GET", "target": "orders", "params": {"id": 1}}));
    assert_eq!(json_of(one.await)["user_id"], 7);
    let all = call(json!({"operation": "SELECT", "target": "orders"}));
    assert_eq!(json_of(all.await).as_array().expect("a list").len(), 3);
    let none = call(json!({"operation": "SELECT", "target": "orders", "params": {"id": 9}}));
    assert_eq!(json_of(none.await), json!([]));
    let query = call(json!({"operation": "SELECT", "params": {"least": 8},
        "query": "SELECT count(*) AS n FROM orders WHERE user_id >= :least AND user_id <= :least + 1"}));
    assert_eq!(json_of(query.await), json!({"n": 2}));
    let moved = call(
        json!({"operation": "UPDATE", "target": "orders", "payload": {"status": "paid"},
        "set": {"user_id": {"$column": "user_id", "$op": "+", "$value": 10}}, "where": {"id": 1}}),
    );
    let moved = json_of(moved.await);
    assert_eq!(
        (&moved["status"], &moved["user_id"]),
        (&json!("paid"), &json!(17))
    );
    let computed = call(json!({"operation": "UPDATE", "target": "orders",
        "set": {"note": "x", "user_id": {"$compute": "double user_id", "$values": {"input": 1}}},
        "where": {"id": 1}}));
    let computed = json_of(computed.await);
    assert_eq!(
        (&computed["note"], &computed["user_id"]),
        (&json!("x"), &json!(35))
    );
    let put = call(json!({"operation": "UPSERT", "target": "orders",
        "payload": {"id": 1, "note": "again"}}));
    assert_eq!(json_of(put.await)["user_id"], 35);
    let missing = call(json!({"operation": "UPDATE", "target": "orders",
        "payload": {"note": "x"}, "where": {"id": 99}}));
    assert_eq!(json_of(missing.await), json!({"affected": 0, "id": null}));
    let gone = call(json!({"operation": "DELETE", "target": "orders", "where": {"id": 1}}));
    assert_eq!(json_of(gone.await)["note"], "again");
    let left = call(json!({"operation": "GET", "target": "orders", "params": {"id": 1}}));
    assert_eq!(json_of(left.await), json!([]));
}

#[tokio::test]
async fn a_query_never_writes_and_what_is_too_large_to_return_is_written_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let call = |request: Value| caller.call(&orders, request);
    let large = "x".repeat(700_000);
    let insert = call(json!({"operation": "INSERT", "target": "orders",
        "payload": {"id": 1, "note": large, "anything": large}}));
    assert_eq!(json_of(insert.await), json!({"affected": 1, "id": 1}));
    for query in [
        "WITH a AS (SELECT 1) DELETE FROM orders",
        "WITH a AS (SELECT 1) INSERT INTO orders(id) VALUES (7) RETURNING *",
    ] {
        let message = refused(call(json!({"operation": "SELECT", "query": query})).await);
        assert!(message.contains("readonly"), "{message}");
    }
    let huge = call(json!({"operation": "SELECT", "query": "SELECT zeroblob(5000000) AS b"}));
    assert!(refused(huge.await).contains("more than"));
    // The connection writes again.
    let update = call(json!({"operation": "UPDATE", "target": "orders",
        "payload": {"note": "", "anything": ""}, "where": {"id": 1}}));
    assert_eq!(json_of(update.await)["id"], 1);
    let all = call(json!({"operation": "SELECT", "query": "SELECT count(*) AS n FROM orders"}));
    assert_eq!(json_of(all.await), json!({"n": 1}));
}

#[tokio::test]
async fn a_value_that_looks_like_an_instruction_is_only_a_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let call = |request: Value| caller.call(&orders, request);
    let row = json!({"operation": "INSERT", "target": "orders", "payload": {"id": 1, "status": "secret"}});
    json_of(call(row).await);
    let looks = json!({"$compute": "status", "$values": {}});
    let set = call(
        json!({"operation": "UPDATE", "target": "orders", "where": {"id": 1},
        "set": {"note": {"$value": looks}}}),
    );
    let set = json_of(set.await);
    let note: Value = serde_json::from_str(set["note"].as_str().expect("a text")).expect("JSON");
    assert_eq!(note, looks);
}

#[tokio::test]
async fn values_keep_their_digits_and_are_never_sql() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let row = caller.call_text(
        &orders,
        r#"{"operation":"INSERT","target":"orders","payload":{"id":9007199254740993,
            "status":"x'); DROP TABLE orders; --","price":99.99,"note":12345678901234567890.12,
            "anything":{"b":1.50,"a":[true,null]}}}"#,
    );
    let row = row.await.expect("a row");
    for part in [
        r#""id":9007199254740993"#,
        r#""status":"x'); DROP TABLE orders; --""#,
        r#""price":99.99"#,
        r#""note":"12345678901234567890.12""#,
        r#""anything":"{\"b\":1.50,\"a\":[true,null]}""#,
        r#""bytes":null"#,
    ] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let bytes = caller.call(
        &orders,
        json!({"operation": "SELECT", "query": "SELECT x'00ff' AS b"}),
    );
    assert_eq!(json_of(bytes.await), json!({"b": "AP8="}));
    let found = caller.call(
        &orders,
        json!({"operation": "GET", "target": "orders", "params": {"status": "x'); DROP TABLE orders; --"}}),
    );
    assert_eq!(json_of(found.await)["price"], 99.99);
}

#[tokio::test]
async fn a_write_is_refused_if_its_column_rounds_a_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    for number in [
        r#""price":12345678901234567890.12"#,
        r#""PRICE":1e400"#,
        r#""user_id":12345678901234567890"#,
        r#""price":9007199254740993"#,
    ] {
        for operation in ["INSERT", "UPSERT"] {
            let request = format!(
                r#"{{"operation":"{operation}","target":"orders","payload":{{"id":1,{number}}}}}"#
            );
            let message = refused(caller.call_text(&orders, &request).await);
            assert!(message.contains("declare it TEXT"), "{message}");
        }
    }
    let rows = json!({"operation": "SELECT", "target": "orders"});
    assert_eq!(json_of(caller.call(&orders, rows).await), json!([]));
    // These lose nothing.
    let request = r#"{"operation":"INSERT","target":"orders",
        "payload":{"id":1,"price":1.50000000000000000000,"anything":12345678901234567890.12,
            "user_id":9007199254740993,"note":9007199254740993}}"#;
    let row = caller.call_text(&orders, request).await.expect("a row");
    for part in [
        r#""price":1.5"#,
        r#""anything":"12345678901234567890.12""#,
        r#""user_id":9007199254740993"#,
        r#""note":"9007199254740993""#,
    ] {
        assert!(row.contains(part), "{part}: {row}");
    }
}

#[tokio::test]
async fn text_that_is_not_utf8_is_returned_in_base64() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let database = rusqlite::Connection::open(folder.path().join("orders.db")).expect("opens");
    let left = "INSERT INTO orders (id, note) VALUES (1, cast(x'ff41' as text))";
    database.execute(left, []).expect("a row");
    for request in [
        json!({"operation": "GET", "target": "orders", "params": {"id": 1}}),
        json!({"operation": "UPDATE", "target": "orders", "payload": {"status": "paid"},
            "where": {"id": 1}}),
    ] {
        let row = json_of(caller.call(&orders, request).await);
        assert_eq!(row["note"], "/0E=");
    }
}

#[tokio::test]
async fn senseless_and_refused_requests_say_what_is_wrong_and_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    for user in [1, 2] {
        let row = json!({"operation": "INSERT", "target": "orders",
            "payload": {"user_id": user, "status": "open"}});
        caller.call(&orders, row).await.expect("a row");
    }
    for (request, expected) in [
        (
            json!({"operation": "DELETE", "target": "orders"}),
            "`where` is missing",
        ),
        (
            json!({"operation": "DELETE", "target": "orders", "where": {"id": null}}),
            "null",
        ),
        (
            json!({"operation": "UPDATE", "target": "orders", "payload": {"note": "x"}}),
            "`where` is missing",
        ),
        // In other quotes this unknown column would be a text that equals the value.
        (
            json!({"operation": "DELETE", "target": "orders", "where": {"nope": "nope"}}),
            "no such column",
        ),
        (
            json!({"operation": "INSERT", "target": "missing", "payload": {"a": 1}}),
            "no such table",
        ),
        (
            json!({"operation": "INSERT", "target": "orders; DROP TABLE orders", "payload": {"a": 1}}),
            "not a valid name",
        ),
        (
            json!({"operation": "INSERT", "target": "orders", "payload": {"id) VALUES (7); --": 1}}),
            "not a valid name",
        ),
        (
            json!({"operation": "DELETE_ONE", "target": "orders", "where": {"status": "open"}}),
            "would change 2 rows",
        ),
        (
            json!({"operation": "INSERT_MANY", "target": "orders", "payload": [{"user_id": 3}, {"user_id": 1}]}),
            "UNIQUE",
        ),
        (
            json!({"operation": "UPDATE", "target": "orders", "set": {"note": {"$compute": "nonsense"}}, "where": {"id": 1}}),
            "unknown",
        ),
        (
            json!({"operation": "DROP", "target": "orders"}),
            "no operation",
        ),
        (
            json!({"operation": "SELECT", "query": "ATTACH DATABASE '/tmp/x' AS y"}),
            "must begin with SELECT",
        ),
        (
            json!({"operation": "SELECT", "query": "SELECT 1; DELETE FROM orders"}),
            "one statement",
        ),
        (
            json!({"operation": "SELECT", "query": "SELECT :missing"}),
            "no member `missing`",
        ),
        (
            json!({"operation": "SELECT", "query": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"}),
            "more than",
        ),
    ] {
        let message = refused(caller.call(&orders, request.clone()).await);
        assert!(message.contains(expected), "{request}: {message}");
    }
    let rows = caller.call(&orders, json!({"operation": "SELECT", "target": "orders"}));
    let rows = json_of(rows.await);
    assert_eq!(rows.as_array().expect("a list").len(), 2, "{rows}");
    assert!(refused(caller.call_text(&orders, "[1]").await).contains("cannot be read"));
}

#[tokio::test]
async fn a_locked_file_is_waited_for_and_a_deadline_ends_the_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Arc::new(Caller::new()), Arc::new(file(folder.path())));
    let mut other = rusqlite::Connection::open(folder.path().join("orders.db")).expect("opens");
    let held = other
        .transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive)
        .expect("a lock");
    let request = |user: i64| {
        json!({"operation": "INSERT", "target": "orders", "payload": {"user_id": user}}).to_string()
    };
    let limit = Duration::from_millis(50);
    let never = CancellationToken::new();
    let late = caller.bounded(&orders, &request(1), limit, &never).await;
    assert_eq!(late, Err(CallFailed::TimedOut(limit)));
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let stopped = caller
        .bounded(&orders, &request(2), PATIENCE, &cancelled)
        .await;
    assert_eq!(stopped, Err(CallFailed::Cancelled));
    let waiting = tokio::spawn({
        let (caller, orders, request) = (Arc::clone(&caller), Arc::clone(&orders), request(3));
        async move { caller.call_text(&orders, &request).await }
    });
    drop(held);
    assert_eq!(json_of(waiting.await.expect("no panic"))["user_id"], 3);
}

#[tokio::test]
async fn a_query_without_an_end_is_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let endless = json!({"operation": "SELECT", "query":
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"});
    let limit = Duration::from_millis(50);
    let never = CancellationToken::new();
    // More often than there are connections: each gives its place back.
    for _ in 0..6 {
        let late = caller
            .bounded(&orders, &endless.to_string(), limit, &never)
            .await;
        assert_eq!(late, Err(CallFailed::TimedOut(limit)));
    }
    let rows = caller.call(&orders, json!({"operation": "SELECT", "target": "orders"}));
    assert_eq!(json_of(rows.await), json!([]));
}

#[tokio::test]
async fn a_query_cannot_make_values_that_fill_the_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let query = "SELECT length(hex(zeroblob(20000000))) AS n";
    let call = caller.call(&orders, json!({"operation": "SELECT", "query": query}));
    let message = refused(call.await);
    assert!(message.contains("too big"), "{message}");
}

#[tokio::test]
async fn many_writers_of_one_file_all_succeed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Arc::new(Caller::new()), Arc::new(file(folder.path())));
    let stock =
        json!({"operation": "INSERT", "target": "orders", "payload": {"id": 1, "user_id": 0}});
    caller.call(&orders, stock).await.expect("a row");
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let (caller, orders) = (Arc::clone(&caller), Arc::clone(&orders));
        writers.spawn(async move {
            let more = json!({"operation": "UPDATE", "target": "orders",
                "set": {"user_id": {"$column": "user_id", "$op": "+", "$value": 1}}, "where": {"id": 1}});
            caller.call(&orders, more).await.expect("updated");
            let more = json!({"operation": "UPDATE", "target": "orders",
                "set": {"price": {"$compute": "double user_id"}}, "where": {"id": 1}});
            caller.call(&orders, more).await.expect("updated");
        });
    }
    while let Some(done) = writers.join_next().await {
        done.expect("no panic");
    }
    let row = caller.call(
        &orders,
        json!({"operation": "GET", "target": "orders", "params": {"id": 1}}),
    );
    let row = json_of(row.await);
    assert_eq!((&row["user_id"], &row["price"]), (&json!(40), &json!(80.0)));
}

#[tokio::test]
async fn uploaded_files_stay_in_the_folder_of_their_tenant() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = json!({"operation": "SELECT", "query": "SELECT 1 AS one"});
    let of = |database: &str| json!({"type": "database", "driver": "sqlite", "database": database});
    let caller = Caller::with(Settings {
        files: Files::Below(folder.path().to_owned()),
        ..Settings::default()
    });
    let made = caller.call(&connector(of("a.db")), read.clone()).await;
    assert_eq!(json_of(made), json!({"one": 1}));
    assert!(folder.path().join("acme/a.db").exists());
    let outside = folder.path().join("b.db");
    let outside = outside.to_str().expect("text");
    for name in ["../b.db", outside, "file:b.db?mode=memory/../../b.db"] {
        refused(caller.call(&connector(of(name)), read.clone()).await);
        let config = connector(of(name)).config;
        let settings = caller.connectors.settings();
        let checked = Connectors::check(&caller.tenant, &config, Trust::Uploaded, settings);
        assert!(checked.is_err(), "{name}");
    }
    let operators = of_trust(of(outside), Trust::Operator);
    assert_eq!(
        json_of(caller.call(&operators, read.clone()).await),
        json!({"one": 1})
    );
    let caller = Caller::with(Settings::default());
    refused(caller.call(&connector(of("a.db")), read).await);
}

#[tokio::test]
async fn a_row_moves_on_in_one_transaction_that_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let row = json!({"operation": "INSERT", "target": "orders", "payload": {"status": "pending"}});
    caller.call(&orders, row).await.expect("a row");
    let cancel = CancellationToken::new();
    let open = |id: &'static str, timeout| {
        caller.connectors.row(RowCall {
            tenant: &caller.tenant,
            connector: &orders,
            table: "orders",
            id,
            timeout,
            cancel: &cancel,
        })
    };
    let mut row = open("1", PATIENCE).await.expect("a row");
    assert_eq!(row.status().as_deref(), Some("pending"));
    assert!(row.row().expect("a row").contains("\"id\":1"));
    // Another one waits for this one.
    let second = open("1", Duration::from_millis(30)).await;
    assert!(matches!(second, Err(CallFailed::TimedOut(_))), "{second:?}");
    let note = json!({"operation": "UPDATE", "target": "orders", "payload": {"note": "paid"}, "where": {"id": 1}});
    row.call(&note.to_string(), &doubled).await.expect("within");
    row.finish("paid").await.expect("moves on");
    // What is dropped has changed nothing.
    let mut row = open("1", PATIENCE).await.expect("a row");
    assert_eq!(row.status().as_deref(), Some("paid"));
    let note = json!({"operation": "UPDATE", "target": "orders", "payload": {"note": "lost"}, "where": {"id": 1}});
    row.call(&note.to_string(), &doubled).await.expect("within");
    drop(row);
    let row = open("1", PATIENCE).await.expect("a row");
    assert!(row.row().expect("a row").contains("\"note\":\"paid\""));
    drop(row);
    let missing = open("\"nothing\"", PATIENCE).await.expect("an answer");
    assert_eq!((missing.row(), missing.status()), (None, None));
}

#[tokio::test]
async fn the_mirror_is_made_with_its_indexes_and_written_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, mirror) = (Caller::new(), file(folder.path()));
    let cancel = CancellationToken::new();
    let table = || MirrorTable {
        tenant: &caller.tenant,
        connector: &mirror,
        table: "mycel_workflows",
        timeout: PATIENCE,
        cancel: &cancel,
    };
    let row = MirrorRow {
        id: "wf_1",
        saga_name: "create_order",
        status: "running",
        input: r#"{"amount":99.990}"#,
        step_results: "{}",
        created_at: "2026-11-23T10:00:00Z",
        updated_at: "2026-11-23T10:00:00Z",
        ..MirrorRow::default()
    };
    let without = caller.connectors.mirror(table(), false, &row).await;
    assert!(
        matches!(without, Err(CallFailed::Failed { .. })),
        "{without:?}"
    );
    caller
        .connectors
        .mirror(table(), true, &row)
        .await
        .expect("made and written");
    caller
        .connectors
        .make_mirror(table())
        .await
        .expect("there already");
    let later = MirrorRow {
        status: "paused",
        await_event: Some("paid"),
        current_step: 1,
        ..row
    };
    caller
        .connectors
        .mirror(table(), false, &later)
        .await
        .expect("written");
    let database = rusqlite::Connection::open(folder.path().join("orders.db")).expect("opens");
    let read = "SELECT status || ' ' || await_event || ' ' || current_step || ' ' || input FROM mycel_workflows";
    let read: String = database
        .query_row(read, [], |row| row.get(0))
        .expect("one row");
    assert_eq!(read, r#"paused paid 1 {"amount":99.990}"#);
    let count = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'mycel_workflows' AND sql IS NOT NULL";
    let count: i64 = database
        .query_row(count, [], |row| row.get(0))
        .expect("a number");
    assert_eq!(count, 3);
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (caller, orders) = (Caller::new(), file(folder.path()));
    let read = json!({"operation": "SELECT", "target": "orders"});
    caller.call(&orders, read.clone()).await.expect("rows");
    let open = || {
        let links = std::fs::read_dir("/proc/self/fd").expect("files");
        let links = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
        links.filter(|link| link.starts_with(folder.path())).count()
    };
    assert!(open() > 0);
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(1)).await;
    tokio::time::resume();
    caller.connectors.close_idle();
    let closed = async {
        while open() > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, closed)
        .await
        .expect("closed");
    caller.call(&orders, read).await.expect("opened again");
}
