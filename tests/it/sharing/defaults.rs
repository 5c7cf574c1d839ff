//! Defaults of the role and of the database, which operators set for other clients.

use std::thread;

use serde_json::json;

use super::node;
use crate::support::{backend, create, database::Database, locked_model, wait::until};

/// A database in which nobody waits for a lock, unless it says so.
fn impatient() -> Database {
    let database = Database::new(backend::migrate);
    database.execute(
        "do $$ begin execute format('alter database %I set lock_timeout = 1', current_database()); \
         end $$",
    );
    database
}

/// Waits until a session waits for a lock.
async fn somebody_waits(database: &Database) {
    let asked = "select count(*) > 0 from pg_locks l join pg_stat_activity a using (pid) \
                 where not l.granted and a.datname = current_database()";
    let waits = async || database.execute(asked) == "t";
    until("a session waits for a lock", waits).await;
}

#[tokio::test]
async fn writes_wait_for_a_lock_whatever_the_database_says() {
    const LOCK: &str = "begin; lock table entity in share mode; select 1";
    let database = impatient();
    let node = node(&database.url());
    let connection = node.connect().await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    let mut holder = database.idle_client(LOCK);
    let released = async {
        somebody_waits(&database).await;
        drop(holder.stdin.take());
        holder.wait().expect("it ends");
    };
    tokio::join!(create(&connection, &model, json!({"n": 1})), released);
}

#[tokio::test]
async fn a_migration_waits_for_a_lock_whatever_the_database_says() {
    let database = impatient();
    database.execute("drop schema public cascade; create schema public");
    // The first table of the migration waits for one that somebody else may commit.
    let mut holder = database.idle_client("begin; create table tenant(t bigint); select 1");
    let url = database.url();
    let migrated = thread::spawn(move || backend::migrate(&url));
    somebody_waits(&database).await;
    drop(holder.stdin.take());
    holder.wait().expect("it ends");
    migrated.join().expect("migrated");
}
