//! The mark of an unfinished copy: no service starts over a target that has it.

use std::process::Stdio;

use super::{
    Session, copied, copy, file, is_not_served, kill_a_copy, many, server, settings,
    waits_for_a_lock,
};
use crate::support::{backend, command, database::Database, wait::until};

/// What a copy does first.
const MARK: &str = include_str!("../../../src/storage/postgres/sql/copying/create.sql");

#[tokio::test]
async fn a_target_is_marked_before_it_is_migrated() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = file(&folder.path().join("a.db"));
    many(&place, 3).await;
    let database = Database::new(backend::migrate);
    let url = database.url();
    database.execute("drop schema public cascade; create schema public");
    // The first table of the migration waits for one that someone else may commit.
    let session = Session::open(&url, "create table tenant(t bigint)");
    kill_a_copy(&place, &url, &database).await;
    assert_eq!(database.execute("select count(*) from copying"), "1");
    is_not_served(&url);
    drop(session);
    is_not_served(&url);
    assert_eq!(
        database.execute("select to_regclass('tenant') is null"),
        "t"
    );
    copied(&place, &url).await;
    drop(server(&url, &[]).connect().await);
}

#[tokio::test]
async fn a_file_is_not_served_before_its_copy_is_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = file(&folder.path().join("a.db"));
    let database = Database::new(backend::migrate);
    let url = database.url();
    many(&url, 3).await;
    let session = Session::open(&url, "lock table entity in access exclusive mode");
    kill_a_copy(&url, &place, &database).await;
    is_not_served(&place);
    drop(session);
    copied(&url, &place).await;
    drop(server(&place, &[]).connect().await);
}

#[tokio::test]
async fn a_marked_file_is_not_migrated_by_a_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.db");
    let marked = rusqlite::Connection::open(&path).expect("opens");
    marked.execute_batch(MARK).expect("marked");
    drop(marked);
    is_not_served(&file(&path));
    let database = rusqlite::Connection::open(&path).expect("opens");
    let tables = "select group_concat(name) from sqlite_schema where type = 'table'";
    let tables = database.query_row(tables, [], |row| row.get::<_, String>(0));
    assert_eq!(tables.expect("a table"), "copying");
}

#[tokio::test]
async fn a_service_that_was_starting_when_a_copy_began_does_not_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::new(backend::migrate);
    let url = database.url();
    // The service has found no mark, and cannot enter the list of nodes yet.
    let session = Session::open(&url, "lock table node in share mode");
    let mut starting = command(folder.path(), &settings(&url, &[]))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    waits_for_a_lock(&database, "interlock").await;
    database.execute(MARK);
    drop(session);
    until("the service ends", async || {
        starting.try_wait().expect("a child").is_some()
    })
    .await;
    let ended = starting.wait_with_output().expect("its output");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("is an unfinished copy"), "{ended:?}");
    assert_eq!(database.execute("select count(*) from node"), "0");
}

#[tokio::test]
async fn a_copy_gives_way_to_a_service_that_started_just_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = file(&folder.path().join("a.db"));
    many(&place, 3).await;
    let database = Database::new(backend::migrate);
    let url = database.url();
    // The copy has found no service, and cannot see yet whether the target is empty.
    let session = Session::open(&url, "lock table tenant in access exclusive mode");
    let service = async {
        waits_for_a_lock(&database, "interlock copy").await;
        let beat = "(extract(epoch from now() + interval '1 hour') * 1000000)::bigint";
        let node = "insert into node(name, address, version, beat) values ('early', '', '',";
        database.execute(&format!("{node} {beat})"));
        drop(session);
    };
    let ((done, said), ()) = tokio::join!(copy(&place, &url), service);
    assert!(!done && said.contains("is used by early"), "{said}");
    assert_eq!(
        database.execute("select to_regclass('copying') is null"),
        "t"
    );
}
