//! Tables and columns that are called as what the statements of connectors contain.

use serde_json::{Value, json};

use super::{
    connectors::{Caller, connector, json_of, refused},
    support::{mariadb::Mariadb, postgres::Postgres},
};

/// Writes and reads a table `w` with the columns `id`, `w`, `q`, `r`, `first` and `rows`.
async fn are_written_and_read(caller: &Caller, config: Value) {
    let database = connector(config);
    let call = |request: Value| caller.call(&database, request);
    let row = json!({"id": 1, "w": 2, "q": 3, "r": 4, "first": 5, "rows": 6});
    let insert = json!({"operation": "INSERT", "target": "w", "payload": row.clone()});
    call(insert).await.expect("is written");
    let read = json!({"operation": "SELECT", "target": "w", "params": {"w": 2}});
    assert_eq!(json_of(call(read.clone()).await), row);
    let query = json!({"operation": "SELECT", "query": "SELECT q, w FROM w AS r WHERE w = :w",
        "params": {"w": 2}});
    assert_eq!(json_of(call(query).await), json!({"q": 3, "w": 2}));
    let update = json!({"operation": "UPDATE", "target": "w", "payload": {"q": 7},
        "set": {"r": {"$compute": "double r"}}, "where": {"id": 1}});
    call(update).await.expect("is written");
    let mut expected = row;
    (expected["q"], expected["r"]) = (json!(7), json!(8));
    assert_eq!(json_of(call(read).await), expected);
    let delete = json!({"operation": "DELETE", "target": "w", "where": {"rows": 6}});
    call(delete).await.expect("is deleted");
}

#[tokio::test]
async fn columns_of_postgres_may_have_every_name() {
    let server = Postgres::start();
    server.execute("CREATE TABLE w (id int, w int, q int, r int, first int, rows int)");
    let config = json!({"type": "database", "driver": "postgres", "host": "127.0.0.1",
        "port": server.port, "database": "postgres", "user": "postgres", "password": "none"});
    are_written_and_read(&Caller::new(), config.clone()).await;
    // A column that is a row itself would be taken for the whole one.
    server.execute(
        "CREATE TYPE pair AS (a int, b int); CREATE TABLE pairs (id int, w pair);
        INSERT INTO pairs VALUES (1, ROW(2, 3))",
    );
    let update = json!({"operation": "UPDATE", "target": "pairs", "payload": {"id": 4},
        "where": {"id": 1}});
    let updated = Caller::new().call(&connector(config), update).await;
    assert_eq!(json_of(updated), json!({"id": 4, "w": {"a": 2, "b": 3}}));
}

#[tokio::test]
async fn columns_of_mariadb_may_have_every_name() {
    let Some(server) = Mariadb::start() else {
        return;
    };
    server.execute("CREATE TABLE shop.w (id int, w int, q int, r int, first int, `rows` int)");
    let config = json!({"type": "database", "driver": "mysql", "host": "127.0.0.1",
        "port": server.port, "database": "shop", "user": "shop", "password": "hidden"});
    are_written_and_read(&Caller::new(), config).await;
}

#[tokio::test]
async fn columns_of_sqlite_may_have_every_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("names.db");
    let database = rusqlite::Connection::open(&path).expect("opens");
    let made = database.execute_batch(
        "CREATE TABLE w (id INTEGER, w INTEGER, q INTEGER, r INTEGER, first INTEGER, rows INTEGER);
        CREATE TABLE t (id TEXT, rowid INTEGER);
        INSERT INTO t VALUES ('a', 7), ('b', 7);
        CREATE TABLE u (id TEXT, _rowid_ INTEGER);
        INSERT INTO u VALUES ('a', 7), ('b', 7);",
    );
    made.expect("tables");
    let config = json!({"type": "database", "driver": "sqlite", "database": path});
    let caller = Caller::new();
    are_written_and_read(&caller, config.clone()).await;
    let database_of = connector(config);
    let update = |table: &str, column: &str| {
        let compute = json!({"$compute": format!("double {column}")});
        let update = json!({"operation": "UPDATE", "target": table, "set": {column: compute},
            "where": {"id": "a"}});
        caller.call(&database_of, update)
    };
    update("t", "rowid").await.expect("is written");
    let message = refused(update("u", "_rowid_").await);
    assert!(message.contains("`_rowid_`"), "{message}");
    let sum = |statement: &str| {
        let sum = database.query_row(statement, [], |row| row.get::<_, i64>(0));
        sum.expect("a sum")
    };
    // Only the row that is selected, and nothing of the other table.
    assert_eq!(sum("SELECT sum(rowid) FROM t"), 21);
    assert_eq!(sum("SELECT sum(_rowid_) FROM u"), 14);
}
