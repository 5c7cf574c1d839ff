//! Several processes over one `PostgreSQL` database.

use std::time::{Duration, Instant};

use crate::support::{Server, backend, database::Database};

/// What all tests of clusters share.
const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Waits until something holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A process over a database.
fn process(database: &Database, settings: &[(&str, &str)]) -> Server {
    let url = database.url();
    let place = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url.as_str()),
    ];
    Server::on_disk(&[&place, settings].concat())
}

/// A node of a cluster.
fn node(database: &Database, name: &str) -> Server {
    let settings = [
        ("CYODA_CLUSTER_ENABLED", "true"),
        ("CYODA_NODE_ID", name),
        ("CYODA_HMAC_SECRET", SECRET),
    ];
    process(database, &settings)
}

#[tokio::test]
async fn processes_are_listed_while_they_live_and_leave_when_they_stop() {
    let database = Database::new(backend::migrate);
    let (mut one, two) = (process(&database, &[]), node(&database, "two"));
    assert_eq!(database.execute("select count(*) from node"), "2");
    let address = database.execute("select address from node where name = 'two'");
    assert_eq!(address, format!("http://localhost:{}", two.grpc.port()));
    let beat = "select max(beat) from node where name = 'two'";
    let first = database.execute(beat);
    until("the node beats", async || database.execute(beat) != first).await;
    assert_eq!(one.stop().await, Some(0));
    assert_eq!(
        database.execute("select string_agg(name, ',') from node"),
        "two"
    );
}

#[tokio::test]
async fn a_process_that_starts_with_a_name_in_use_takes_it_over() {
    let database = Database::new(backend::migrate);
    let mut first = node(&database, "a");
    let number = database.execute("select i from node");
    let second = node(&database, "a");
    assert_eq!(first.wait().await, Some(1));
    let said = first.log.lock().expect("no panic").join("\n");
    assert!(
        said.contains("another process has started as node a"),
        "{said}"
    );
    assert_ne!(database.execute("select i from node"), number);
    assert_eq!(
        database.execute("select address from node"),
        format!("http://localhost:{}", second.grpc.port())
    );
}
