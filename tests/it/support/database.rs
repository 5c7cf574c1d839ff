//! Databases of one `PostgreSQL` server that all tests of this process share.
//!
//! The server is a child of a shell that waits for the end of this process, however it ends, and
//! then stops the server and removes its files. Each test has a database of its own, made from a
//! template that is migrated, and dropped when the test is over.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::{fs::chown, process::CommandExt as _},
    process::{Child, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::postgres::{NOBODY, free_port, is_super_user, programs};

/// The variable that says which database the tests run on.
const VARIABLE: &str = "INTERLOCK_TEST_BACKEND";

/// Whether tests run on `PostgreSQL`, unless they are about something else.
pub(crate) fn is_postgres() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|backend| backend == "postgres")
}

/// The shared server.
struct Shared {
    port: u16,
    psql: std::path::PathBuf,
    /// The shell; it stops the server when this process is gone.
    _shell: Child,
    /// A template is copied by one at a time.
    making: Mutex<()>,
    made: AtomicU32,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// The template of all databases.
const TEMPLATE: &str = "migrated";

const SCRIPT: &str = r#"
"$0/initdb" -D "$1/data" -U postgres -A trust -N -E UTF8 --no-locale >"$1/log" 2>&1 &&
"$0/pg_ctl" -D "$1/data" -w -t 60 -l "$1/log" -o "-p $2 -k $1 -c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off -c max_connections=600 -c autovacuum=off" start >/dev/null 2>&1
echo ready
cat >/dev/null
"$0/pg_ctl" -D "$1/data" -m immediate stop >/dev/null 2>&1
rm -rf "$1"
"#;

impl Shared {
    fn start() -> Self {
        let programs = programs().expect("PostgreSQL is installed");
        let folder = tempfile::tempdir().expect("a folder").keep();
        if is_super_user() {
            chown(&folder, Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        let port = free_port();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", SCRIPT])
            .arg(&programs)
            .arg(&folder)
            .arg(port.to_string())
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A signal to this process is none to the shell.
            .process_group(0);
        if is_super_user() {
            shell.uid(NOBODY).gid(NOBODY);
        }
        let mut shell = shell.spawn().expect("a shell");
        let mut said = BufReader::new(shell.stdout.take().expect("piped")).lines();
        said.next().expect("a line").expect("text");
        let shared = Self {
            port,
            psql: programs.join("psql"),
            _shell: shell,
            making: Mutex::default(),
            made: AtomicU32::new(0),
        };
        shared.execute("postgres", &format!("create database {TEMPLATE}"));
        shared
    }

    fn url(&self, name: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{name}", self.port)
    }

    fn execute(&self, database: &str, text: &str) -> String {
        let done = Command::new(&self.psql)
            .args(["-qAt", "-v", "ON_ERROR_STOP=1", "-d"])
            .arg(self.url(database))
            .args(["-c", text])
            .output()
            .expect("psql runs");
        let complaint = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{text}: {complaint}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }
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
            migrate(&shared.url(TEMPLATE));
        }
        let name = format!("test_{number}");
        let text = format!("create database {name} template {TEMPLATE}");
        shared.execute("postgres", &text);
        Self { name }
    }

    pub(crate) fn url(&self) -> String {
        SHARED.get_or_init(Shared::start).url(&self.name)
    }

    /// Executes statements in it.
    pub(crate) fn execute(&self, text: &str) -> String {
        let shared = SHARED.get_or_init(Shared::start);
        shared.execute(&self.name, text)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(shared) = SHARED.get()
            && !std::thread::panicking()
        {
            let text = format!("drop database if exists {} with (force)", self.name);
            shared.execute("postgres", &text);
        }
    }
}
