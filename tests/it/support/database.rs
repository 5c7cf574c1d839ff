//! Databases of one `PostgreSQL` server that all tests of this process share.
//!
//! Each test has a database of its own, made from a template that is migrated, and dropped when the
//! test is over.

use std::{
    process::Child,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::postgres::Postgres;

/// The variable that says which database the tests run on.
pub(crate) const VARIABLE: &str = "INTERLOCK_TEST_BACKEND";

/// Whether tests run on `PostgreSQL`, unless they are about something else.
pub(crate) fn is_postgres() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|backend| backend == "postgres")
}

/// The shared server.
struct Shared {
    server: Postgres,
    /// A template is copied by one at a time.
    making: Mutex<()>,
    made: AtomicU32,
    /// How it is copied: as files takes a third of the time, where there is a choice.
    strategy: &'static str,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// The template of all databases.
const TEMPLATE: &str = "migrated";

/// What is lost with the machine is not missed.
const OPTIONS: &str = "-c fsync=off -c full_page_writes=off -c autovacuum=off";

impl Shared {
    fn start() -> Self {
        let server = Postgres::with(OPTIONS);
        server.execute(&format!("create database {TEMPLATE}"));
        let version = server.execute("show server_version_num");
        let has_choice = version
            .parse::<u32>()
            .is_ok_and(|version| version >= 150_000);
        Self {
            server,
            making: Mutex::default(),
            made: AtomicU32::new(0),
            strategy: if has_choice { "strategy file_copy" } else { "" },
        }
    }
}

fn server() -> &'static Postgres {
    &SHARED.get_or_init(Shared::start).server
}

/// A database of one test. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Database {
    name: String,
}

impl Database {
    /// A new one; the template is migrated first by a function that is given its URL.
    pub(crate) fn new(migrate: impl FnOnce(&str)) -> Self {
        let shared = SHARED.get_or_init(Shared::start);
        let _making = shared.making.lock().unwrap_or_else(PoisonError::into_inner);
        let number = shared.made.fetch_add(1, Ordering::Relaxed);
        if number == 0 {
            migrate(&shared.server.url(TEMPLATE));
        }
        let name = format!("test_{number}");
        let strategy = shared.strategy;
        let text = format!("create database {name} template {TEMPLATE} {strategy}");
        shared.server.execute(&text);
        Self { name }
    }

    pub(crate) fn url(&self) -> String {
        server().url(&self.name)
    }

    /// Executes statements in it; what they return, as text.
    pub(crate) fn execute(&self, text: &str) -> String {
        server().execute_in(&self.name, text)
    }

    /// A client that has executed statements in it, and is idle until its input is closed.
    pub(crate) fn idle_client(&self, text: &str) -> Child {
        server().idle_client(&self.name, text)
    }

    /// Everything in it, as text.
    pub(crate) fn dump(&self) -> String {
        server().dump(&self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let text = format!("drop database if exists {} with (force)", self.name);
            server().execute(&text);
        }
    }
}
