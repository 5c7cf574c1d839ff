//! Which database a test runs on.
//!
//! `INTERLOCK_TEST_BACKEND=postgres cargo test --test it` runs the tests over `PostgreSQL`, one
//! database each. What differs is here, and nowhere else.

use std::{process::Stdio, sync::Arc};

use super::{
    command,
    database::{Database, is_postgres},
};

/// Tests that stay on `SQLite`: the beginnings of their names, and why.
const OF_SQLITE: &[(&str, &str)] = &[
    (
        "attack::",
        "the limits of the process are measured with one file",
    ),
    (
        "bundles::",
        "the key of the variables is made beside the database file",
    ),
    (
        "durability::",
        "files are damaged, moved, or lost before they are synced",
    ),
    ("faults::", "faults of the disk and of the database file"),
    (
        "housekeeping::ended_runs_are_removed",
        "rows are counted in the database file",
    ),
    ("incidents::", "rows are damaged in the database file"),
    (
        "key_pairs::",
        "stored keys are looked at in the database file",
    ),
    ("mirror::", "rows are looked at in the database file"),
    (
        "process::a_second_process",
        "a lock on the database file refuses a second process",
    ),
    (
        "tasks::a_touch_extends",
        "a row is looked at in the database file",
    ),
    (
        "timers::a_timer_that_is_later",
        "rows are changed in the database file",
    ),
    (
        "turns::a_long_backlog",
        "a backlog is written into the database file",
    ),
    ("rows::", "rows are read and written in the database file"),
];

/// A key for the variables of bundles: 32 bytes.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Whether a test is about `SQLite` itself.
fn is_of_sqlite() -> bool {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    OF_SQLITE.iter().any(|(start, _)| name.starts_with(start))
}

/// The database of a server with these settings; none if it stores in a file or in memory.
pub(crate) fn database_for(settings: &[(&str, &str)]) -> Option<Arc<Database>> {
    let says_where = settings.iter().any(|(name, value)| {
        ["CYODA_SQLITE_PATH", "CYODA_POSTGRES_URL"].contains(name)
            || (*name == "CYODA_STORAGE_BACKEND" && *value == "sqlite")
    });
    if !is_postgres() || says_where || is_of_sqlite() {
        return None;
    }
    Some(Arc::new(Database::new(migrate)))
}

/// Brings a database up to date.
pub(crate) fn migrate(url: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url),
    ];
    let done = command(folder.path(), &settings)
        .arg("migrate")
        .stdin(Stdio::null())
        .output()
        .expect("migrates");
    assert!(done.status.success(), "{done:?}");
}

/// Settings, with the place of the database in place of what they say of it.
pub(crate) fn with_url<'a>(
    settings: &[(&'a str, &'a str)],
    url: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    let Some(url) = url else {
        return settings.to_vec();
    };
    // There is no file beside the database that could hold one.
    let key = ("INTERLOCK_KEY_ENCRYPTION_KEY", KEY);
    let has_key = settings.iter().any(|(name, _)| *name == key.0);
    let others = settings
        .iter()
        .filter(|(name, _)| *name != "CYODA_STORAGE_BACKEND");
    let place = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url),
        ("CYODA_POSTGRES_MAX_CONNS", "6"),
        ("CYODA_POSTGRES_MIN_CONNS", "1"),
    ];
    let key = (!has_key).then_some(key);
    let place = place.into_iter().chain(key);
    place.chain(others.copied()).collect()
}
