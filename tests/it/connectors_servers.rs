//! Connectors to databases: servers that misbehave or are late, and those with TLS.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
};

use interlock::connector::{CallFailed, Connector};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};

use super::{
    connectors::{Caller, Came, connector, json_of},
    connectors_postgres::SLOW_COMMITS,
    support::{
        Connection, PATIENCE, Server, mariadb::Mariadb, outside::Identity, postgres::Postgres,
        wait::found,
    },
};

/// The user that databases of the super user are started as.
const NOBODY: u32 = 65_534;

fn select() -> Value {
    json!({"operation": "SELECT", "query": "SELECT 1"})
}

fn database(driver: &str, port: u16, tls: &str, authority: Option<&str>) -> Connector {
    connector(
        json!({"type": "database", "driver": driver, "host": "localhost", "port": port,
        "database": "shop", "user": "shop", "password": "hidden", "tls": tls, "tls_ca": authority}),
    )
}

/// A server for one connection, which sends something first if it speaks first, and then answers
/// whatever it gets with the next of these, the last of them without end.
async fn talking(first: &[u8], answers: &[&[u8]]) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let first = first.to_vec();
    let answers: Vec<Vec<u8>> = answers.iter().map(|answer| answer.to_vec()).collect();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        // It fails once the server is left.
        let _ = talk(&mut stream, &first, &answers).await;
    });
    (port, task)
}

async fn talk(stream: &mut TcpStream, first: &[u8], answers: &[Vec<u8>]) -> io::Result<()> {
    stream.write_all(first).await?;
    for answer in answers {
        let mut asked = [0; 1024];
        if stream.read(&mut asked).await? == 0 {
            return Ok(());
        }
        stream.write_all(answer).await?;
    }
    let last = answers.last().expect("an answer").repeat(1000);
    loop {
        stream.write_all(&last).await?;
    }
}

/// A call of a server that talks without end, which is left.
async fn left(driver: &str, first: &[u8], answers: &[&[u8]]) -> Came {
    let (port, task) = talking(first, answers).await;
    let called = database(driver, port, "none", None);
    let came = Caller::new().call(&called, select()).await;
    timeout(PATIENCE, task)
        .await
        .expect("it is left")
        .expect("it ends");
    came
}

#[tokio::test]
async fn a_postgresql_server_that_never_stops_sending_is_left() {
    let notice: &[u8] = b"N\0\0\0\x1bSNOTICE\0MHello\0C00000\0\0";
    let huge: &[u8] = b"R\x7f\xff\xff\xf0";
    for flood in [notice, huge] {
        let came = left("postgres", b"", &[flood]).await;
        assert!(
            matches!(&came, Err(CallFailed::Unavailable { message }) if message.contains("more than 4194304 bytes")),
            "{came:?}"
        );
    }
}

/// A greeting of `MySQL`: the version of the protocol, the flags with or without TLS, the way to
/// log in.
fn greeting(protocol: u8, flags: u8, plugin: &str) -> Vec<u8> {
    let mut whole = vec![0, 0, 0, 0, protocol];
    whole.extend(b"8.0.40\0\x01\0\0\0abcdefgh\0\xff");
    whole.push(flags);
    // With transactions, authentication by plugins, and whatever else there is.
    whole.extend(b"\x2d\x02\0\xff\xc1\x15\0\0\0\0\0\0\0\0\0\0abcdefghijkl\0");
    whole.extend(plugin.as_bytes());
    whole.push(0);
    whole[0] = u8::try_from(whole.len() - 4).expect("it is short");
    whole
}

#[tokio::test]
async fn a_mysql_server_that_announces_too_many_columns_is_left() {
    let greeting = greeting(10, 0xf7, "mysql_native_password");
    let logged_in: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
    let columns: &[u8] = b"\x09\0\0\x01\xfe\0\0\0\0\0\x10\0\0";
    let came = left("mysql", &greeting, &[logged_in, columns]).await;
    assert!(
        matches!(&came, Err(CallFailed::Unavailable { message }) if message.contains("not of its protocol")),
        "{came:?}"
    );
}

/// An attacker on the connection can change a greeting: the driver receives nothing that the relay does not
/// act upon.
#[tokio::test]
async fn a_server_whose_greeting_gets_around_tls_gets_nothing() {
    let own = Identity::new().authority;
    let (own, sha2) = (Some(&*own), "caching_sha2_password");
    let clear = greeting(10, 0xf7, "mysql_clear_password");
    for (greeting, tls, authority, expected) in [
        (
            greeting(11, 0xff, sha2),
            "require",
            own,
            "protocol of MySQL",
        ),
        (greeting(9, 0xff, sha2), "prefer", own, "protocol of MySQL"),
        (greeting(10, 0xf7, sha2), "require", None, "not support TLS"),
        (clear, "none", None, "asks for the password"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let task = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            stream.write_all(&greeting).await.expect("is read");
            let mut got = Vec::new();
            let _ = stream.read_to_end(&mut got).await;
            got
        });
        let called = database("mysql", port, tls, authority);
        let came = Caller::new().call(&called, select()).await;
        assert!(
            matches!(&came, Err(CallFailed::Unavailable { message }) if message.contains(expected)),
            "{came:?}"
        );
        let got = timeout(PATIENCE, task).await.expect("it is left");
        assert_eq!(got.expect("it ends"), b"");
    }
}

/// The files of a certificate for `localhost` and of its key, which a database can read, and the
/// certificate.
fn certified() -> (tempfile::TempDir, String) {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let own = own.expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let readable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), readable).expect("shared");
    let is_super_user = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    for (name, text) in [
        ("cert.pem", own.cert.pem()),
        ("key.pem", own.signing_key.serialize_pem()),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("private");
        if is_super_user {
            chown(&path, Some(NOBODY), Some(NOBODY)).expect("given away");
        }
    }
    (folder, own.cert.pem())
}

/// Asks whether connections are secure, which they are with each setting but `none`, and only if the
/// server is the one that is trusted.
async fn are_secured(driver: &str, port: u16, own: &str, query: &str) {
    let (caller, strange) = (Caller::new(), Identity::new());
    let query = json!({"operation": "SELECT", "query": query});
    let call = async |tls: &str, authority: Option<&str>| {
        let connector = database(driver, port, tls, authority);
        caller.call(&connector, query.clone()).await
    };
    for (tls, authority, expected) in [
        ("none", None, false),
        ("prefer", None, true),
        ("prefer", Some(own), true),
        ("require", None, true),
        ("require", Some(own), true),
    ] {
        let is_secure = json_of(call(tls, authority).await)["secure"].clone();
        let expected = [json!(expected), json!(i32::from(expected))];
        assert!(expected.contains(&is_secure), "{tls}: {is_secure}");
    }
    for tls in ["prefer", "require"] {
        let came = call(tls, Some(&strange.authority)).await;
        assert!(
            matches!(&came, Err(CallFailed::Unavailable { message }) if message.contains("certificate")),
            "{came:?}"
        );
    }
}

#[tokio::test]
async fn connections_to_postgresql_are_secured() {
    let (folder, own) = certified();
    let path = folder.path().display();
    let server = Postgres::with(&format!(
        "-c fsync=off -c ssl=on -c ssl_cert_file={path}/cert.pem -c ssl_key_file={path}/key.pem"
    ));
    server.execute("CREATE USER shop");
    server.execute("CREATE DATABASE shop");
    let query = "SELECT ssl AS secure FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    are_secured("postgres", server.port, &own, query).await;
    let plain = Postgres::start();
    let required = connector(json!({"type": "database", "driver": "postgres",
        "host": "localhost", "port": plain.port, "database": "postgres", "user": "postgres",
        "tls": "require"}));
    let came = Caller::new().call(&required, select()).await;
    assert!(
        matches!(&came, Err(CallFailed::Unavailable { message }) if message.contains("does not support TLS")),
        "{came:?}"
    );
}

#[tokio::test]
async fn connections_to_mysql_are_secured() {
    let (folder, own) = certified();
    let path = folder.path().display();
    let Some(server) = Mariadb::with(&[
        format!("--ssl-cert={path}/cert.pem"),
        format!("--ssl-key={path}/key.pem"),
    ]) else {
        return;
    };
    let query = "SELECT variable_value <> '' AS secure FROM information_schema.session_status \
        WHERE variable_name = 'Ssl_cipher'";
    are_secured("mysql", server.port, &own, query).await;
}

/// One saga that fails after a commit that takes longer than a call may, and one whose write waits
/// for a row.
const LATE: &str = r#"
connector "shop" {
  type     = "database"
  driver   = "postgres"
  host     = "127.0.0.1"
  port     = PORT
  database = "postgres"
  user     = "postgres"
  password = "not asked for"
  timeout  = "2s"
}
saga "commits" {
  step "write" {
    action {
      connector = "shop"
      operation = "INSERT"
      target    = "slow"
      data      = { v = "input.v" }
    }
    compensate {
      connector = "shop"
      operation = "DELETE"
      target    = "slow"
      where     = { id = "step.write.id" }
    }
  }
  step "fail" {
    action {
      connector = "shop"
      operation = "INSERT"
      target    = "missing"
      data      = { v = "input.v" }
    }
  }
}
saga "waits" {
  step "take" {
    action {
      connector = "shop"
      operation = "UPDATE"
      target    = "stock"
      set       = { n = "n - 1" }
      where     = { id = 1 }
    }
    compensate {
      connector = "shop"
      operation = "UPDATE"
      target    = "stock"
      set       = { n = "n + 1" }
      where     = { id = 1 }
    }
  }
}
"#;

/// A run of a saga that has failed and undone everything it had done.
async fn undone(connection: &Connection, saga: &str) -> Value {
    let start = json!({"definition": saga, "input": {"v": "x"}, "waitMs": 30_000});
    let started = connection.ok("RunStartRequest", start).await;
    let run = started["runId"].as_str().expect("an id").to_owned();
    found("the saga is undone", async || {
        let run = connection.ok("RunGetRequest", json!({"runId": run}));
        let run = run.await["run"].take();
        (run["status"] == "failed" && run["compensated"] == true).then_some(run)
    })
    .await
}

#[tokio::test]
async fn a_saga_that_says_it_is_undone_leaves_nothing_in_its_database_whatever_was_late() {
    let (database, server) = (Postgres::start(), Server::start());
    database.execute(SLOW_COMMITS);
    database.execute("CREATE TABLE stock (id int PRIMARY KEY, n int)");
    database.execute("INSERT INTO stock VALUES (1, 5)");
    let connection = server.connect().await;
    let text = LATE.replace("PORT", &database.port.to_string());
    let files = json!([{"path": "a.hcl", "text": text}]);
    let apply = json!({"bundle": "late", "files": files});
    connection.ok("BundleApplyRequest", apply).await;
    let run = undone(&connection, "commits").await;
    assert_eq!(run["compensationErrors"], Value::Null, "{run}");
    // It was written once, and deleted.
    let written = "SELECT count(*), (SELECT last_value FROM slow_id_seq) FROM slow";
    assert_eq!(database.execute(written), "0|1");
    let mut holds = database.idle_client("postgres", "BEGIN; SELECT n FROM stock FOR UPDATE");
    let run = undone(&connection, "waits").await;
    assert_eq!(run["compensationErrors"], Value::Null, "{run}");
    holds.kill().expect("it is there");
    holds.wait().expect("it ends");
    assert_eq!(database.execute("SELECT n FROM stock"), "5");
}
