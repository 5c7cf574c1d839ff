//! The table that shows the runs of sagas to others (`runs.md` §7, *Mirror*, `orchestration.md` 2.5).

use std::{path::Path, time::Duration};

use serde_json::{Value, json};

use crate::sharing::node;
use crate::support::{
    Connection, PATIENCE, Server, backend, database::Database, postgres::Postgres, token,
    wait::until_removed,
};

/// A saga that ends at once and one that waits for a signal.
const SAGAS: &str = r#"
saga "quick" {
  step "none" { action { } }
}
saga "approve" {
  timeout = "7d"
  step "wait" {
    await   = "approved"
    timeout = "48h"
  }
}
"#;

fn bundle(storage: &str, workflow: &str) -> Value {
    let text = format!(
        "connector \"shown\" {{\n type = \"database\"\n {storage}\n}}\nservice {{\n workflow {{\n \
         storage = \"connector.shown\"\n {workflow}\n }}\n}}\n{}",
        SAGAS.replace("{ action { } }", "{\n action {\n }\n }")
    );
    json!({"bundle": "shop", "files": [{"path": "a.hcl", "text": text}]})
}

fn sqlite(path: &Path, workflow: &str) -> Value {
    let driver = format!("driver = \"sqlite\"\n database = \"{}\"", path.display());
    bundle(&driver, workflow)
}

async fn start(connection: &Connection, saga: &str) -> String {
    let start = json!({"definition": saga, "input": {"user": 7, "price": 1.50}});
    let started = connection.ok("RunStartRequest", start).await;
    started["runId"].as_str().expect("an id").to_owned()
}

/// Waits for a value.
async fn until<T: PartialEq + std::fmt::Debug>(expected: T, mut found: impl FnMut() -> T) {
    let mut last = None;
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            let value = found();
            if value == expected {
                return;
            }
            last = Some(value);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(waited.await.is_ok(), "{last:?} is not {expected:?}");
}

/// The columns of a row as text, empty where there is nothing.
fn row(path: &Path, table: &str, columns: &str, run: &str) -> Vec<String> {
    let Ok(database) = rusqlite::Connection::open(path) else {
        return Vec::new();
    };
    let count = columns.split(',').count();
    let select = format!("SELECT {columns} FROM {table} WHERE id = ?1");
    let values = database.query_row(&select, [run], |row| {
        let text = |at: usize| row.get::<_, rusqlite::types::Value>(at);
        (0..count).map(text).collect::<Result<Vec<_>, _>>()
    });
    let text = |value: rusqlite::types::Value| match value {
        rusqlite::types::Value::Null => String::new(),
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Real(number) => number.to_string(),
        rusqlite::types::Value::Blob(bytes) => format!("{bytes:?}"),
    };
    values.unwrap_or_default().into_iter().map(text).collect()
}

#[tokio::test]
async fn the_table_is_made_when_the_bundle_is_applied_and_follows_each_run() {
    let server = Server::on_disk(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shown.db");
    let connection = server.connect().await;
    let applied = connection
        .ok(
            "BundleApplyRequest",
            sqlite(&path, "table = \"shown_runs\""),
        )
        .await;
    assert_eq!(applied["warnings"], Value::Null, "{applied}");
    let database = rusqlite::Connection::open(&path).expect("opens");
    let indexes: i64 = database
        .query_row(
            "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND tbl_name = 'shown_runs' AND sql IS NOT NULL",
            [],
            |row| row.get(0),
        )
        .expect("a count");
    assert_eq!(indexes, 3);

    let run = start(&connection, "approve").await;
    let shown = |columns: &str| row(&path, "shown_runs", columns, &run);
    let waits = [
        "approve",
        "paused",
        "0",
        r#"{"price":1.50,"user":7}"#,
        "{}",
        "",
        "",
        "approved",
        "",
    ];
    let columns =
        "saga_name,status,current_step,input,step_results,signal_data,resume_at,await_event,error";
    let normal = |mut values: Vec<String>| {
        // The order of the members is the sender's.
        if let Some(input) = values.get_mut(3) {
            *input = input.replace(r#"{"user":7,"price":1.5}"#, r#"{"price":1.50,"user":7}"#);
            *input = input.replace(r#"{"price":1.5,"user":7}"#, r#"{"price":1.50,"user":7}"#);
        }
        values
    };
    until(waits.map(str::to_owned).to_vec(), || normal(shown(columns))).await;
    let path_of = format!("/workflows/{run}");
    let answered = server.rest().get(&path_of).await.ok();
    let times = shown("created_at,expires_at,step_expires_at,updated_at");
    for (name, time) in ["created_at", "expires_at", "step_expires_at", "updated_at"]
        .iter()
        .zip(&times)
    {
        assert_eq!(answered[name], **time, "{name}");
    }

    let signal = json!({"runId": run, "type": "approved", "payload": "by me"});
    connection.ok("RunSignalRequest", signal).await;
    let ended = ["completed", "\"by me\"", r#"{"wait":"by me"}"#, ""];
    until(ended.map(str::to_owned).to_vec(), || {
        shown("status,signal_data,step_results,await_event")
    })
    .await;
    // One that is cancelled, and one that never waits.
    let cancelled = start(&connection, "approve").await;
    let cancel = json!({"runId": cancelled});
    connection.ok("RunCancelRequest", cancel).await;
    let quick = start(&connection, "quick").await;
    for (run, status) in [(&cancelled, "cancelled"), (&quick, "completed")] {
        until(vec![status.to_owned()], || {
            row(&path, "shown_runs", "status", run)
        })
        .await;
    }
}

/// The bundle of two sagas that pause: by a step that does nothing else, and before a call.
fn delayed(path: &Path) -> Value {
    let text = r#"
connector "shown" {
  type     = "database"
  driver   = "sqlite"
  database = "PATH"
}
service {
  workflow {
    storage = "connector.shown"
  }
}
saga "pause" {
  step "rest" {
    delay = "1h"
  }
  step "last" {
    action {
    }
  }
}
saga "pause_and_call" {
  step "last" {
    delay = "1h"
    action {
      connector = "shown"
      operation = "DELETE"
      target    = "t"
      where     = { id = 1 }
    }
  }
}
"#;
    let text = text.replace("PATH", &path.display().to_string());
    json!({"bundle": "shop", "files": [{"path": "a.hcl", "text": text}]})
}

#[tokio::test]
async fn a_run_in_a_delay_has_moved_past_a_step_that_is_nothing_else() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shown.db");
    let connection = server.connect().await;
    connection.ok("BundleApplyRequest", delayed(&path)).await;
    for (saga, place) in [("pause", "1"), ("pause_and_call", "0")] {
        let run = start(&connection, saga).await;
        until(vec!["paused".to_owned(), place.to_owned()], || {
            row(&path, "mycel_workflows", "status,current_step", &run)
        })
        .await;
        let shown = server.rest().get(&format!("/workflows/{run}")).await.ok();
        assert_eq!(shown["current_step"].to_string(), place, "{shown}");
        assert_eq!(shown["current_step_name"], "last", "{shown}");
    }
}

#[tokio::test]
async fn a_run_stays_until_its_row_is_written() {
    let server = Server::on_disk(&[("INTERLOCK_RUNS_RETENTION", "1s")]);
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("mounted");
    let path = place.join("shown.db");
    let connection = server.connect().await;
    connection.ok("BundleApplyRequest", sqlite(&path, "")).await;
    let text = "saga \"unseen\" {\n step \"none\" {\n action {\n }\n }\n}\n";
    let unseen = json!({"bundle": "other", "files": [{"path": "a.hcl", "text": text}]});
    connection.ok("BundleApplyRequest", unseen).await;
    let run = start(&connection, "quick").await;
    // One that ends later and is shown nowhere: the time of the first is over.
    let unseen = start(&connection, "unseen").await;
    until_removed(&connection, &unseen).await;
    std::fs::create_dir(&place).expect("a folder");
    until(vec!["completed".to_owned()], || {
        row(&path, "mycel_workflows", "status", &run)
    })
    .await;
    until_removed(&connection, &run).await;
}

#[tokio::test]
async fn a_database_that_is_away_holds_nobody_up_and_gets_every_run_after_a_crash() {
    let mut server = Server::on_disk(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("mounted");
    let path = place.join("shown.db");
    let connection = server.connect().await;
    let applied = connection.ok("BundleApplyRequest", sqlite(&path, "")).await;
    let warning = applied["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("mycel_workflows"), "{warning}");
    let mut runs = Vec::new();
    for _ in 0..20 {
        runs.push(start(&connection, "quick").await);
    }
    let waiting = start(&connection, "approve").await;
    for run in &runs {
        let shown = connection.ok("RunGetRequest", json!({"runId": run})).await;
        assert_eq!(shown["run"]["status"], "completed");
    }
    server.kill();
    server.restart();
    let connection = server.connect().await;
    let signal = json!({"runId": waiting, "type": "approved"});
    connection.ok("RunSignalRequest", signal).await;
    std::fs::create_dir(&place).expect("a folder");
    runs.push(waiting);
    for run in &runs {
        until(vec!["completed".to_owned()], || {
            row(&path, "mycel_workflows", "status", run)
        })
        .await;
    }
}

#[tokio::test]
async fn a_row_that_is_refused_is_repeated_and_keeps_back_no_other() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shown.db");
    let connection = server.connect().await;
    connection.ok("BundleApplyRequest", sqlite(&path, "")).await;
    let database = rusqlite::Connection::open(&path).expect("opens");
    let refuse = "CREATE TRIGGER no BEFORE INSERT ON mycel_workflows WHEN NEW.saga_name = 'approve' \
                  BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    database.execute_batch(refuse).expect("a trigger");
    let mut refused = Vec::new();
    for _ in 0..15 {
        refused.push(start(&connection, "approve").await);
    }
    let quick = start(&connection, "quick").await;
    until(vec!["completed".to_owned()], || {
        row(&path, "mycel_workflows", "status", &quick)
    })
    .await;
    database.execute_batch("DROP TRIGGER no").expect("dropped");
    for run in &refused {
        until(vec!["paused".to_owned()], || {
            row(&path, "mycel_workflows", "status", run)
        })
        .await;
    }
}

#[tokio::test]
async fn rows_that_stay_refused_delay_no_run_that_comes_later() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shown.db");
    let connection = server.connect().await;
    connection.ok("BundleApplyRequest", sqlite(&path, "")).await;
    let database = rusqlite::Connection::open(&path).expect("opens");
    let refuse = "CREATE TRIGGER no BEFORE INSERT ON mycel_workflows WHEN NEW.saga_name = 'approve' \
                  BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    database.execute_batch(refuse).expect("a trigger");
    for _ in 0..25 {
        start(&connection, "approve").await;
    }
    // The pauses of the refused rows grow meanwhile, to half a minute each.
    let later = async {
        for _ in 0..25 {
            let quick = start(&connection, "quick").await;
            until(vec!["completed".to_owned()], || {
                row(&path, "mycel_workflows", "status", &quick)
            })
            .await;
        }
    };
    let written = tokio::time::timeout(PATIENCE, later).await;
    assert!(written.is_ok(), "they wait for the pauses of others");
}

#[tokio::test]
async fn a_table_that_is_not_to_be_made_is_waited_for() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let (path, other) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let connection = server.connect().await;
    connection
        .ok("BundleApplyRequest", sqlite(&path, "auto_create = false"))
        .await;
    let run = start(&connection, "quick").await;
    assert_eq!(row(&path, "mycel_workflows", "status", &run), [""; 0]);
    // The same table as the service would make it, from a bundle that lets it.
    let mut made = sqlite(&other, "");
    made["namespace"] = json!("other");
    connection.ok("BundleApplyRequest", made).await;
    let made = rusqlite::Connection::open(&other).expect("opens");
    let create: String = made
        .query_row(
            "SELECT sql FROM sqlite_master WHERE name = 'mycel_workflows'",
            [],
            |row| row.get(0),
        )
        .expect("a table");
    let database = rusqlite::Connection::open(&path).expect("opens");
    database.execute_batch(&create).expect("made");
    until(vec!["completed".to_owned()], || {
        row(&path, "mycel_workflows", "status", &run)
    })
    .await;
}

#[tokio::test]
async fn a_table_of_postgres_follows_each_run_and_outlives_its_server() {
    let database = Postgres::start();
    let mut server = Server::on_disk(&[]);
    let connection = server.connect().await;
    let storage = format!(
        "driver = \"postgres\"\n host = \"127.0.0.1\"\n port = {}\n database = \"postgres\"\n user = \"postgres\"\n password = \"x\"",
        database.port
    );
    let applied = connection
        .ok("BundleApplyRequest", bundle(&storage, ""))
        .await;
    assert_eq!(applied["warnings"], Value::Null, "{applied}");
    let run = start(&connection, "approve").await;
    let shown = |what: &str| {
        database.execute(&format!(
            "SELECT {what} FROM mycel_workflows WHERE id = '{run}'"
        ))
    };
    until("paused|approved|7".to_owned(), || {
        shown("status || '|' || await_event || '|' || (input ->> 'user')")
    })
    .await;
    assert_eq!(shown("step_expires_at > now() + interval '47h'"), "t");
    assert_eq!(
        database.execute("SELECT count(*) FROM pg_indexes WHERE tablename = 'mycel_workflows'"),
        "4"
    );
    // What cannot be stored there is replaced, and a signal may be of any kind.
    let signal = json!({"runId": run, "type": "approved", "payload": "a\u{0}b"});
    database.restart();
    connection.ok("RunSignalRequest", signal).await;
    server.kill();
    server.restart();
    until("completed|\"a\u{fffd}b\"".to_owned(), || {
        shown("status || '|' || signal_data")
    })
    .await;
}

/// A mirror that hangs delays neither the runs of its tenant nor the mirrors of others.
#[tokio::test]
async fn a_database_that_hangs_delays_only_its_own_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().to_str().expect("UTF-8");
    let mut settings = token::TAKES_TOKENS.to_vec();
    settings.push(("INTERLOCK_CONNECTORS_PRIVATE_NETWORKS", "true"));
    settings.push(("INTERLOCK_CONNECTORS_SQLITE_DIR", place));
    let server = Server::with(&settings);
    let as_of = async |tenant: &str| {
        let bearer = token::bearer(tenant, &["ROLE_ADMIN", "ROLE_USER"]);
        server.connect_as(&[("authorization", &bearer)]).await
    };
    let (slow, other) = (as_of("slow").await, as_of("other").await);
    // It accepts connections, and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let storage = format!(
        "driver = \"postgres\"\n host = \"127.0.0.1\"\n port = {port}\n database = \"x\"\n user = \"x\"\n password = \"x\""
    );
    let applied = slow.ok("BundleApplyRequest", bundle(&storage, "")).await;
    assert!(applied["warnings"][0].is_string(), "{applied}");
    for _ in 0..10 {
        let run = start(&slow, "quick").await;
        let shown = slow.ok("RunGetRequest", json!({"runId": run})).await;
        assert_eq!(shown["run"]["status"], "completed");
    }
    let shown = Path::new("shown.db");
    other.ok("BundleApplyRequest", sqlite(shown, "")).await;
    let run = start(&other, "quick").await;
    let path = folder.path().join("other").join("shown.db");
    until(vec!["completed".to_owned()], || {
        row(&path, "mycel_workflows", "status", &run)
    })
    .await;
}

#[tokio::test]
async fn what_a_killed_process_has_not_written_is_written_by_another() {
    let database = Database::new(backend::migrate);
    let url = database.url();
    let mut nodes = [node(&url), node(&url)];
    let live = || database.execute("select count(*) from node");
    until("2".to_owned(), live).await;
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("later");
    let path = place.join("shown.db");
    let connection = nodes[0].connect().await;
    let apply = sqlite(&path, "table = \"shown_runs\"");
    connection.ok("BundleApplyRequest", apply).await;
    let run = start(&connection, "quick").await;
    drop(connection);
    nodes[0].kill();
    std::fs::create_dir(&place).expect("a folder");
    let status = || row(&path, "shown_runs", "status", &run);
    until(vec!["completed".to_owned()], status).await;
    let records = || database.execute("select count(*) from record where kind = 15");
    until("0".to_owned(), records).await;
}
