//! Connectors to databases: `MySQL`, of which `MariaDB` is the one that is free to start.

use interlock::connector::{CallFailed, MirrorRow, MirrorTable, RowCall};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    connectors::{Caller, connector, json_of, refused},
    support::{PATIENCE, mariadb::Mariadb, wait::until},
};

const ORDERS: &str = "CREATE TABLE shop.orders (id bigint PRIMARY KEY AUTO_INCREMENT, status varchar(50),
    user_id int UNIQUE, price decimal(40,10), made datetime(6), day date, at timestamp(3) NULL, anything json,
    bytes blob, ok boolean, ratio double, small float, large bigint unsigned)";

fn config(server: &Mariadb) -> Value {
    json!({"type": "database", "driver": "mysql", "host": "127.0.0.1", "port": server.port,
        "database": "shop", "user": "shop", "password": "hidden"})
}

#[tokio::test]
async fn rows_are_written_read_and_deleted_with_their_digits() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    server.execute(ORDERS);
    let (caller, orders) = (Caller::new(), connector(config(&server)));
    let made = caller.call_text(
        &orders,
        r#"{"operation":"INSERT","target":"orders","payload":{"status":"x'); DROP TABLE orders; --",
            "user_id":7,"price":12345678901234567890.1234567890,"made":"2026-11-23 10:00:00.5",
            "day":"2026-11-23","at":"2026-11-23 10:00:00","anything":{"b":1.50,"a":[true,null]},"ok":true,
            "ratio":0.1,"small":0.1,"large":18446744073709551615}}"#,
    );
    assert_eq!(made.await.as_deref(), Ok(r#"{"affected":1,"id":1}"#));
    let row = json!({"operation": "GET", "target": "orders", "params": {"user_id": 7}});
    let row = caller.call(&orders, row).await.expect("a row");
    for part in [
        r#""id":1,"status":"x'); DROP TABLE orders; --","user_id":7"#,
        r#""price":12345678901234567890.1234567890"#,
        r#""made":"2026-11-23T10:00:00.500"#,
        r#""day":"2026-11-23""#,
        r#""at":"2026-11-23T10:00:00Z""#,
        // It has no type for JSON.
        r#""anything":"{\"b\":1.50,\"a\":[true,null]}""#,
        r#""bytes":null"#,
        r#""ok":1"#,
        r#""ratio":0.1,"small":0.1,"large":18446744073709551615"#,
    ] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let call = |request: Value| caller.call(&orders, request);
    let moved = call(
        json!({"operation": "UPDATE_ONE", "target": "shop.orders", "payload": {"status": "paid"},
        "set": {"price": {"$column": "price", "$op": "-", "$value": 0.5}}, "where": {"user_id": 7}}),
    );
    assert_eq!(json_of(moved.await)["affected"], 1);
    let price = "SELECT price FROM shop.orders";
    assert_eq!(server.execute(price), "12345678901234567889.6234567890");
    let computed = call(json!({"operation": "UPDATE", "target": "orders",
        "set": {"user_id": {"$compute": "double user_id"}}, "where": {"status": "paid"}}));
    assert_eq!(json_of(computed.await)["affected"], 1);
    let put = call(
        json!({"operation": "UPSERT", "target": "orders", "payload": {"id": 1, "status": "again"}}),
    );
    put.await.expect("written");
    let query = call(
        json!({"operation": "SELECT", "params": {"user": 14, "status": "again"},
        "query": "SELECT count(*) AS n FROM orders WHERE user_id = :user AND status = :status # all"}),
    );
    assert_eq!(json_of(query.await), json!({"n": 1}));
    for (request, expected) in [
        (
            json!({"operation": "DELETE", "target": "orders", "where": {"nope": "nope"}}),
            "Unknown column",
        ),
        (
            json!({"operation": "INSERT", "target": "orders", "payload": [{"user_id": 50}, {"user_id": 14}]}),
            "Duplicate entry",
        ),
        (
            json!({"operation": "SELECT", "query": "SELECT 1; DELETE FROM orders"}),
            "one statement",
        ),
    ] {
        let message = refused(call(request.clone()).await);
        assert!(message.contains(expected), "{request}: {message}");
    }
    assert_eq!(server.execute("SELECT count(*) FROM shop.orders"), "1");
    let gone = call(json!({"operation": "DELETE", "target": "orders", "where": {"id": 1}}));
    assert_eq!(json_of(gone.await)["affected"], 1);
    let mut wrong = config(&server);
    wrong["password"] = json!("wrong horse battery");
    let (wrong, read) = (
        connector(wrong),
        json!({"operation": "SELECT", "target": "orders"}),
    );
    match caller.call(&wrong, read).await {
        Err(CallFailed::Unavailable { message }) => {
            assert!(!message.contains("battery"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// The database itself reads `'3; x'` as 3, and every other text as 0.
#[tokio::test]
async fn a_value_selects_only_the_rows_that_have_it() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    server.execute(
        "CREATE TABLE shop.users (id int PRIMARY KEY, token varchar(50), mail varchar(50) UNIQUE,
         seen timestamp(6) NULL, length time NULL, amount decimal(7,2) zerofill, level tinyint(1) unsigned)",
    );
    let (caller, users) = (Caller::new(), connector(config(&server)));
    let call = async |request: &str| caller.call_text(&users, request).await;
    call(
        r#"{"operation":"INSERT","target":"users","payload":[
            {"id":3,"token":"secret","mail":"a","seen":"2026-11-23T10:00:00.5+02:00","length":"9:05:00",
             "amount":42.5,"level":200},
            {"id":4,"token":"7","mail":"b"}]}"#,
    )
    .await
    .expect("written");
    let row = call(r#"{"operation":"GET","target":"users","params":{"id":"3"}}"#).await;
    let row = row.expect("a row");
    assert_eq!(
        row,
        r#"{"id":3,"token":"secret","mail":"a","seen":"2026-11-23T08:00:00.500Z","length":"09:05:00","amount":42.50,"level":200}"#
    );
    let found = call(
        r#"{"operation":"GET","target":"users","params":{"seen":"2026-11-23T08:00:00.500Z"}}"#,
    );
    assert_eq!(found.await.as_deref(), Ok(&*row));
    for (filter, count) in [
        (r#"{"token":0}"#, 0),
        (r#"{"token":false}"#, 0),
        (r#"{"id":"3; x"}"#, 0),
        (r#"{"id":""}"#, 0),
        (r#"{"token":7}"#, 1),
        (r#"{"id":"4"}"#, 0),
    ] {
        let request = format!(r#"{{"operation":"DELETE","target":"users","where":{filter}}}"#);
        let done = call(&request).await.expect("done");
        assert_eq!(json_of(Ok(done))["affected"], count, "{filter}");
    }
    // The types are those that the columns have now.
    server.execute("CREATE TABLE shop.codes (id int, code int, bytes varbinary(9), at time)");
    server.execute("INSERT INTO shop.codes VALUES (1, 5, 'abc', '00:00:00')");
    let none = r#"{"operation":"DELETE","target":"codes","where":{"code":0}}"#;
    assert_eq!(json_of(call(none).await)["affected"], 0);
    server.execute("ALTER TABLE shop.codes MODIFY code varchar(9)");
    server.execute("UPDATE shop.codes SET code = 'A1'");
    for filter in [r#"{"code":0}"#, r#"{"bytes":0}"#, r#"{"at":"x"}"#] {
        let none = format!(r#"{{"operation":"DELETE","target":"codes","where":{filter}}}"#);
        assert_eq!(json_of(call(&none).await)["affected"], 0, "{filter}");
    }
    // No row has a key without a value.
    let null =
        r#"{"operation":"UPSERT","target":"codes","where":{"id":null},"payload":{"code":"B"}}"#;
    for _ in 0..2 {
        assert_eq!(json_of(call(null).await)["affected"], 1);
    }
    let codes = "SELECT group_concat(code ORDER BY code) FROM shop.codes";
    assert_eq!(server.execute(codes), "A1,B,B");
    // Another row has that address, and is not overwritten.
    let taken = r#"{"operation":"UPSERT","target":"users","payload":{"id":5,"mail":"a"}}"#;
    assert!(refused(call(taken).await).contains("Duplicate"));
    for level in ["1", "2"] {
        let put = format!(
            r#"{{"operation":"UPSERT","target":"users","payload":{{"id":5,"mail":"c","level":{level}}}}}"#
        );
        call(&put).await.expect("written");
    }
    let all = "SELECT group_concat(id, ':', token, ifnull(level, '') ORDER BY id) FROM shop.users";
    assert_eq!(server.execute(all), "3:secret200");
    assert_eq!(
        server.execute("SELECT level FROM shop.users WHERE id = 5"),
        "2"
    );
}

/// A statement that waits for a lock when its call is given up is not executed later.
#[tokio::test]
async fn a_write_that_was_given_up_leaves_nothing() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    server.execute("CREATE TABLE shop.stock (id int PRIMARY KEY, n int, status varchar(9))");
    server.execute("INSERT INTO shop.stock VALUES (1, 5, 'new')");
    let holds = connector(config(&server));
    let mut impatient = config(&server);
    impatient["timeout"] = json!(1_000);
    let (caller, stock) = (Caller::new(), connector(impatient));
    let row = RowCall {
        tenant: &caller.tenant,
        connector: &holds,
        table: "stock",
        id: "1",
        timeout: PATIENCE,
        cancel: &CancellationToken::new(),
    };
    let held = caller.connectors.row(row).await.expect("a row");
    let add = json!({"operation": "UPDATE", "target": "stock", "where": {"id": 1},
        "set": {"n": {"$column": "n", "$op": "+", "$value": 200}}});
    let late = caller.call(&stock, add.clone()).await;
    assert!(matches!(late, Err(CallFailed::NothingDone(_))), "{late:?}");
    // It does not wait for the row any longer, either.
    until_nothing_is_executed(&server).await;
    drop(held);
    // This one waits for whatever still holds the row.
    let next = caller.call(&holds, add).await;
    assert_eq!(json_of(next)["affected"], 1);
    assert_eq!(server.execute("SELECT n FROM shop.stock"), "205");
}

/// Waits until the server executes nothing for calls.
async fn until_nothing_is_executed(server: &Mariadb) {
    let count = "SELECT count(*) FROM information_schema.processlist \
         WHERE user = 'shop' AND command <> 'Sleep'";
    until("nothing is executed", async || server.execute(count) == "0").await;
}

#[tokio::test]
async fn what_a_call_executes_ends_with_its_time_limit() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    let mut brief = config(&server);
    brief["timeout"] = json!(1_000);
    let (caller, brief) = (Caller::new(), connector(brief));
    let heavy = json!({"operation": "SELECT",
        "query": "SELECT BENCHMARK(2000000000, SHA2('x', 512)) AS n"});
    // The server may end it a moment before the call is given up.
    let _ = caller.call(&brief, heavy).await;
    let ended = "SELECT variable_value FROM information_schema.global_status \
         WHERE variable_name = 'MAX_STATEMENT_TIME_EXCEEDED'";
    until("the server ends it", async || server.execute(ended) == "1").await;
    until_nothing_is_executed(&server).await;
}

#[tokio::test]
async fn a_read_succeeds_although_the_connection_that_was_kept_has_ended() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    let (caller, shop) = (Caller::new(), connector(config(&server)));
    let read = json!({"operation": "SELECT", "query": "SELECT 1 AS one"});
    for _ in 0..2 {
        let came = caller.call(&shop, read.clone()).await;
        assert_eq!(json_of(came), json!({"one": 1}));
        server.execute("KILL USER shop");
    }
}

#[tokio::test]
async fn a_row_moves_on_and_the_mirror_is_written() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    server.execute(ORDERS);
    server.execute("INSERT INTO shop.orders (id, status) VALUES (1, 'pending')");
    let (caller, orders) = (Caller::new(), connector(config(&server)));
    let cancel = CancellationToken::new();
    let row = caller.connectors.row(RowCall {
        tenant: &caller.tenant,
        connector: &orders,
        table: "orders",
        id: "1",
        timeout: PATIENCE,
        cancel: &cancel,
    });
    let row = row.await.expect("a row");
    assert_eq!(row.status().as_deref(), Some("pending"));
    row.finish("paid").await.expect("moves on");
    assert_eq!(server.execute("SELECT status FROM shop.orders"), "paid");
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
        resume_at: Some("2026-11-24T10:00:00.25Z"),
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
        server.execute("SELECT status, input, resume_at FROM shop.mycel_workflows"),
        "paused\t{\"amount\":99.990}\t2026-11-24 10:00:00.250000"
    );
}

#[tokio::test]
async fn the_mirror_holds_every_character_whatever_its_database_does() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    server.execute("ALTER DATABASE shop CHARACTER SET latin1");
    let (caller, shop) = (Caller::new(), connector(config(&server)));
    let cancel = CancellationToken::new();
    let table = MirrorTable {
        tenant: &caller.tenant,
        connector: &shop,
        table: "mycel_workflows",
        timeout: PATIENCE,
        cancel: &cancel,
    };
    let row = MirrorRow {
        id: "wf_1",
        saga_name: "привет",
        status: "failed",
        input: r#"{"a":"é😀"}"#,
        step_results: "{}",
        error: Some("日本"),
        created_at: "2026-11-23T10:00:00Z",
        updated_at: "2026-11-23T10:00:00Z",
        ..MirrorRow::default()
    };
    let written = caller.connectors.mirror(table, true, &row).await;
    written.expect("made and written");
    let texts = "SELECT HEX(saga_name), HEX(input), HEX(error) FROM shop.mycel_workflows";
    let expected = ["привет", r#"{"a":"é😀"}"#, "日本"].map(hex::encode_upper);
    assert_eq!(server.execute(texts), expected.join("\t"));
}
