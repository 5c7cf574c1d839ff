//! A server over `PostgreSQL`: how it starts, and what becomes of it when the database goes.

use std::{process::Stdio, time::Duration};

use serde_json::json;

use crate::support::{
    self, Server, backend, command, database::Database, locked_model, postgres::Postgres,
};

fn place(url: &str) -> [(&str, &str); 2] {
    [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url),
    ]
}

/// What a server says that does not start.
fn refusal(settings: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let done = command(folder.path(), settings)
        .env("CYODA_STARTUP_TIMEOUT", "3s")
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let said = [done.stdout, done.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

fn assert_says(said: &str, part: &str) {
    assert!(said.contains(part), "{part}: {said}");
}

#[tokio::test]
async fn entities_are_stored_and_found_again_after_a_restart() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let mut server = Server::on_disk(&place(&url));
    let connection = server.connect().await;
    let model = locked_model(&connection, "m", json!({"n": 1})).await;
    let create = json!({"dataFormat": "JSON", "payload": {"model": model, "data": {"n": 1}}});
    let made = connection.ok("EntityCreateRequest", create).await;
    let id = made["transactionInfo"]["entityIds"][0].clone();
    let read = connection
        .ok("EntityGetRequest", json!({"entityId": id}))
        .await;
    assert_eq!(read["payload"]["data"], json!({"n": 1}));
    assert_eq!(server.stop().await, Some(0));
    server.restart();
    let connection = server.connect().await;
    let read = connection
        .ok("EntityGetRequest", json!({"entityId": id}))
        .await;
    assert_eq!(read["payload"]["data"], json!({"n": 1}));
    let delete = json!({"entityId": id});
    connection.ok("EntityDeleteRequest", delete).await;
    assert_eq!(
        database.execute("select count(*) from entity where live"),
        "0"
    );
    assert_eq!(database.execute("select count(*) from version"), "2");
}

#[test]
fn what_is_wrong_with_a_server_is_named_at_the_start() {
    let said = refusal(&[("CYODA_STORAGE_BACKEND", "postgres")]);
    assert_says(&said, "needs CYODA_POSTGRES_URL");
    let nobody = support::postgres::free_port();
    let said = refusal(&place(&format!(
        "postgres://u:secret@127.0.0.1:{nobody}/db"
    )));
    assert_says(&said, "the PostgreSQL server does not answer");
    assert!(!said.contains("secret"), "{said}");
    let server = Postgres::start();
    let port = server.port;
    let url = |user: &str, name: &str| format!("postgres://{user}@127.0.0.1:{port}/{name}");
    let said = refusal(&place(&url("postgres", "absent")));
    assert_says(&said, "has no such database");
    let said = refusal(&place(&url("nobody", "postgres")));
    assert_says(&said, "rejected the user or the password");
    let url = url("postgres", "postgres");
    let unmigrated = [
        &place(&url)[..],
        &[("CYODA_POSTGRES_AUTO_MIGRATE", "false")],
    ]
    .concat();
    assert_says(
        &refusal(&unmigrated),
        "needs a migration; run `interlock migrate`",
    );
    backend::migrate(&url);
    server.execute("insert into _sqlx_migrations values (9999, 'later', now(), true, '', 0)");
    assert_says(&refusal(&place(&url)), "was migrated by a newer release");
    server.execute("delete from _sqlx_migrations where version = 9999");
    server.execute("alter database postgres set default_transaction_read_only = on");
    assert_says(&refusal(&place(&url)), "is read-only");
}

#[tokio::test]
async fn a_server_is_well_again_after_its_database_was_away() {
    let postgres = Postgres::start();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", postgres.port);
    let server = Server::on_disk(&place(&url));
    let connection = server.connect().await;
    let model = locked_model(&connection, "m", json!({"n": 1})).await;
    let create = json!({"dataFormat": "JSON", "payload": {"model": model, "data": {"n": 1}}});
    connection.ok("EntityCreateRequest", create.clone()).await;
    postgres.restart();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    let made = loop {
        let answer = connection.call("EntityCreateRequest", create.clone()).await;
        if answer["success"] == json!(true) {
            break answer;
        }
        let code = support::code(&answer);
        assert!(
            ["STORAGE_UNAVAILABLE", "OUTCOME_UNKNOWN"].contains(&code.as_str()),
            "{answer}"
        );
        assert!(tokio::time::Instant::now() < deadline, "{answer}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let id = made["transactionInfo"]["entityIds"][0].clone();
    connection
        .ok("EntityGetRequest", json!({"entityId": id}))
        .await;
}

#[tokio::test]
async fn two_processes_write_to_one_database() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let (one, other) = (Server::on_disk(&place(&url)), Server::on_disk(&place(&url)));
    let (one, other) = (one.connect().await, other.connect().await);
    let model = locked_model(&one, "m", json!({"n": 1})).await;
    let create =
        |n: i64| json!({"dataFormat": "JSON", "payload": {"model": model, "data": {"n": n}}});
    for n in 0..20 {
        let (first, second) = tokio::join!(
            one.ok("EntityCreateRequest", create(n)),
            other.ok("EntityCreateRequest", create(100 + n)),
        );
        assert_ne!(first["transactionInfo"], second["transactionInfo"]);
    }
    assert_eq!(
        database.execute("select count(*) from entity where live"),
        "40"
    );
    let forks = "select count(*) from (select prev from \"commit\" where prev is not null group by prev having count(*) > 1) x";
    assert_eq!(database.execute(forks), "0");
}

/// A statement without the lines that say what it does.
fn without_comment(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("--"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_statement_prepares_on_a_migrated_database() {
    let database = Database::new(backend::migrate);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/storage/postgres/sql");
    for file in std::fs::read_dir(folder).expect("readable") {
        let path = file.expect("readable").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() || name.starts_with("session") {
            continue;
        }
        let text = without_comment(&std::fs::read_to_string(&path).expect("readable"));
        database.execute(&format!("prepare q as {text}"));
    }
}
