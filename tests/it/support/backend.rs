//! Which database a test runs on.
//!
//! `cargo test --test it` runs the tests over `SQLite`, and by `backends.rs` all of the same names
//! over `PostgreSQL`, one database each. What differs is here and in [`super::stored`], and nowhere
//! else.

use std::{io::Write as _, process::Stdio, sync::Arc};

use super::{
    command,
    database::{Database, is_postgres},
};

/// The variable with the file that the names of tests with a database are added to.
pub(crate) const USED: &str = "INTERLOCK_TEST_USED";

/// The beginnings of names of tests that run once, and why.
type Once = &'static [(&'static str, &'static str)];

/// Tests of what only `SQLite` has.
const OF_SQLITE: Once = &[
    ("backup::", "`interlock backup` and `restore` copy a file"),
    (
        "bundles::the_key_beside",
        "only a database file has a key beside it",
    ),
    ("lost_key::", "only a database file has a key beside it"),
    (
        "durability::a_stopped_server",
        "only a database file is looked for in a folder",
    ),
    ("faults::", "the disk and the file are damaged under it"),
    (
        "process::a_second_process",
        "only a database file is locked by its process",
    ),
    (
        "process::the_database_is_where",
        "only a database file has a path",
    ),
    ("clock_ahead::", "the file is changed while nobody uses it"),
];

/// Tests that start `PostgreSQL` themselves.
const OF_POSTGRES: Once = &[
    ("away::", "the database is stopped, cut off or full"),
    ("cluster::", "nodes share a database"),
    ("copying::", "copies go from either database to the other"),
    ("failover::", "a standby takes over"),
    (
        "histories::",
        "transactions over either database, and their checker",
    ),
    ("killed_nodes::", "nodes over a database are killed"),
    (
        "limits::a_limit_of_bytes_that_is_reached_at_one",
        "several processes share a database",
    ),
    ("processes::", "several processes share a database"),
    ("sharing::", "several processes share their work"),
    ("stale_definitions::", "several processes share a database"),
    ("tls::nodes_that_ask", "nodes share a database"),
    ("storing::", "settings and faults of PostgreSQL"),
];

/// Tests that do not depend on the database of the service.
const OF_NEITHER: Once = &[
    ("backends::", "it starts the others"),
    (
        "connections::",
        "limits of connections and of requests that are read",
    ),
    ("connectors::rows_are", "connectors without a service"),
    ("connectors::values_keep", "connectors without a service"),
    ("connectors::senseless", "connectors without a service"),
    ("connectors::a_locked_file", "connectors without a service"),
    ("connectors::a_query", "connectors without a service"),
    ("connectors::many_writers", "connectors without a service"),
    ("connectors::a_row_moves", "connectors without a service"),
    ("connectors::the_mirror", "connectors without a service"),
    (
        "connectors::idle_connections",
        "connectors without a service",
    ),
    ("connectors::uploaded_files", "connectors without a service"),
    (
        "connectors_email::a_template",
        "connectors without a service",
    ),
    (
        "connectors_email::mail_is_sent",
        "connectors without a service",
    ),
    (
        "connectors_email::what_the_mail",
        "connectors without a service",
    ),
    ("connectors_mariadb::", "connectors without a service"),
    ("connectors_postgres::", "connectors without a service"),
    (
        "connectors_http::",
        "connectors without a service, and an upload that is refused",
    ),
    ("diagram::the_command_line_draws_what", "drawn from a file"),
    ("diagram::the_tutorial", "compared with a page"),
    ("flo::a_document_of_another", "a file that is validated"),
    ("flo::a_file_that_is_not", "a file that is validated"),
    ("flo::a_valid_document", "a file that is validated"),
    ("flo::every_finding", "a file that is validated"),
    ("flo::the_program_is_the_same", "printed by the program"),
    ("flo::warnings_are", "a file that is validated"),
    ("cors::", "headers of the HTTP port"),
    ("help::", "pages, by the program and over HTTP"),
    ("openapi::", "the description of the HTTP port"),
    ("tls::", "certificates and handshakes of the ports"),
    ("key_pairs::a_key_that_is_none", "a start that is refused"),
    ("parity::every_operation_is_on", "printed by the program"),
    ("process::the_command_line", "printed by the program"),
    ("process::a_bad_setting", "a start that is refused"),
    ("process::settings_come", "printed by the program"),
    ("process::a_file_of_settings", "a file that is written"),
    ("process::a_command_whose", "printed by the program"),
    ("schema::the_schemas", "compared with files"),
    ("schema::every_event_type", "compared with files"),
    ("schema::an_answer_says", "compared with files"),
    ("unread_log::", "what is printed"),
    ("tokens::what_cannot_be", "a start that is refused"),
    ("trusted_keys::settings", "a start that is refused"),
];

/// A group of tests that run once.
pub(crate) const GROUPS: [(&str, Once); 3] = [
    ("what only SQLite has", OF_SQLITE),
    ("PostgreSQL, which they start themselves", OF_POSTGRES),
    ("what depends on neither", OF_NEITHER),
];

/// The group and entry of a test that runs once.
pub(crate) fn once(name: &str) -> Option<(&'static str, &'static str)> {
    GROUPS.iter().find_map(|(group, entries)| {
        let mut entries = entries.iter();
        let (start, _) = entries.find(|(start, _)| name.starts_with(start))?;
        Some((*group, *start))
    })
}

/// A key for the variables of bundles: 32 bytes.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Tests that begin so encrypt key pairs only where they say so, which the same key would do.
const WITHOUT_KEY: &str = "key_pairs::";

/// The database of a server with these settings; none if it stores in a file or in memory.
pub(crate) fn database_for(settings: &[(&str, &str)]) -> Option<Arc<Database>> {
    let says_where = settings.iter().any(|(name, value)| {
        ["CYODA_SQLITE_PATH", "CYODA_POSTGRES_URL"].contains(name)
            || (*name == "CYODA_STORAGE_BACKEND" && *value == "sqlite")
    });
    let test = test_name();
    if !is_postgres() || says_where || once(&test).is_some() {
        return None;
    }
    note_use(&test);
    Some(Arc::new(Database::new(migrate)))
}

/// Notes that a test has a database, if that is to be known.
fn note_use(test: &str) {
    if let Some(file) = std::env::var_os(USED) {
        let file = std::fs::File::options().append(true).open(file);
        let line = format!("{test}\n");
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.expect("written");
    }
}

/// The name of the test that asks.
fn test_name() -> String {
    let thread = std::thread::current();
    thread.name().unwrap_or_default().to_owned()
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
    let has_key =
        settings.iter().any(|(name, _)| *name == key.0) || test_name().starts_with(WITHOUT_KEY);
    let others = settings
        .iter()
        .filter(|(name, _)| *name != "CYODA_STORAGE_BACKEND");
    let place = [
        ("CYODA_STORAGE_BACKEND", "postgres"),
        ("CYODA_POSTGRES_URL", url),
        ("CYODA_POSTGRES_MAX_CONNS", "7"),
        ("CYODA_POSTGRES_MIN_CONNS", "1"),
    ];
    let key = (!has_key).then_some(key);
    let place = place.into_iter().chain(key);
    place.chain(others.copied()).collect()
}
