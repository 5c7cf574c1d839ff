//! A database that was written while the clock was ahead (topic history, *If the clock was ahead*).

use interlock::clock::Clock;

use crate::support::{Rest, Server};

#[tokio::test]
async fn commits_that_are_ahead_of_the_clock_are_reported_and_current_reads_show_them() {
    let mut server = Server::on_disk(&[]);
    server.rest().lock_model("order", r#"{"n":1}"#).await;
    server.rest().create("order", r#"{"n":1}"#).await;
    server.stop().await;
    assert!(!server.logged().contains("ahead of the clock"));
    let database = server.folder().join(".local/share/interlock/interlock.db");
    let connection = rusqlite::Connection::open(database).expect("opens");
    let day = "update \"commit\" set at = at + 86400000000 \
               where seq = (select max(seq) from \"commit\")";
    connection.execute_batch(day).expect("a day later");
    connection.close().expect("closes");
    server.restart();
    let log = server.logged();
    let reports = "the newest commit is ahead of the clock";
    assert!(log.contains(reports), "{log}");
    let rest = server.rest();
    let id = rest.create("order", r#"{"n":2}"#).await;
    let path = format!("/api/entity/{id}");
    rest.get(&path).await.ok();
    // The same read must answer the same later.
    let then = Clock::System.now();
    let past = rest.get(&format!("{path}?pointInTime={then}")).await;
    past.refused(404, "ENTITY_NOT_FOUND");
    let metrics = Rest::new(server.admin).get("/metrics").await.text;
    let name = "interlock_commit_time_ahead_seconds ";
    let ahead = metrics.lines().find_map(|line| line.strip_prefix(name));
    let ahead: f64 = ahead.expect("measured").parse().expect("a number");
    assert!((86_000.0..=86_401.0).contains(&ahead), "{ahead}");
}
