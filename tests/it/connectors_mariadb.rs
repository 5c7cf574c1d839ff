//! Connectors to databases: `MySQL`, of which `MariaDB` is the one that is free to start.

use interlock::connector::{CallFailed, MirrorRow, MirrorTable, RowCall};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    connectors::{Caller, connector, json_of, refused},
    support::{PATIENCE, mariadb::Mariadb},
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
