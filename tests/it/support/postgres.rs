//! A private `PostgreSQL` server, started for one test or for all of a process.
//!
//! It belongs to a shell that waits for the end of this process, however it ends, and then stops
//! the server and removes its files.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::Read as _,
    net::TcpListener,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The variable with the folder of its programs, where the newest installed ones are not wanted.
const PROGRAMS: &str = "INTERLOCK_TEST_POSTGRES";

/// The user that a server of the super user is started as, which it insists on.
const NOBODY: u32 = 65_534;

/// Starts the server in the folder `$1` with the options `$2`, as a standby of the server at `$3`
/// if that is given, and stops it when there is nothing more to read.
const SCRIPT: &str = r#"
trap 'rm -rf "$1"' EXIT
if [ -n "$3" ]; then
  "$0/pg_basebackup" -d "$3" -D "$1/data" -R -c fast -N >"$1/log" 2>&1
else
  "$0/initdb" -D "$1/data" -U postgres -A trust -N -E UTF8 --no-locale >"$1/log" 2>&1
fi &&
"$0/pg_ctl" -D "$1/data" -w -t 60 -l "$1/log" -o "$2" start >/dev/null 2>&1 || {
  cat "$1/log"
  exit 1
}
echo ready
exec >/dev/null
cat >/dev/null
"$0/pg_ctl" -D "$1/data" -m immediate stop >/dev/null 2>&1
"#;

/// A file system in memory, where there is one. A database is several hundred files, and ext4 takes
/// longest for those that are made where others were just removed.
const MEMORY: &str = "/dev/shm";

/// How many bytes must be free there.
const MEMORY_BYTES_MIN: u64 = 4 << 30;

/// A running server with one empty database, `postgres`. Dropping it ends it and removes its
/// files; so does the end of this process.
pub(crate) struct Postgres {
    pub(crate) port: u16,
    programs: PathBuf,
    folder: PathBuf,
    shell: Child,
}

impl Postgres {
    /// Starts one.
    pub(crate) fn start() -> Self {
        Self::with("-c fsync=off")
    }

    /// The same, with options of the server.
    pub(crate) fn with(options: &str) -> Self {
        Self::in_folder(folder(), options)
    }

    /// The same, with its files in a folder, which is removed with it.
    pub(crate) fn in_folder(folder: PathBuf, options: &str) -> Self {
        Self::make(folder, options, "")
    }

    /// A standby of a server that is reached at a port, named `standby`.
    pub(crate) fn standby_of(port: u16) -> Self {
        let primary = format!("host=127.0.0.1 port={port} user=postgres application_name=standby");
        Self::make(folder(), "-c fsync=off", &primary)
    }

    fn make(folder: PathBuf, options: &str, primary: &str) -> Self {
        let programs = programs();
        let port = free_port();
        let options = format!(
            "-p {port} -k {} -c listen_addresses=127.0.0.1 -c timezone=UTC \
             -c max_connections=600 {options}",
            folder.display()
        );
        let mut shell = command("sh", &folder);
        shell
            .args(["-c", SCRIPT])
            .args([&programs, &folder])
            .args([&options, primary])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A signal to this process does not reach the shell.
            .process_group(0);
        if is_super_user() {
            chown(&folder, Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        let mut shell = shell.spawn().expect("a shell");
        let mut said = String::new();
        let output = shell.stdout.as_mut().expect("piped");
        output.read_to_string(&mut said).expect("text");
        assert!(said.ends_with("ready\n"), "PostgreSQL: {said}");
        Self {
            port,
            programs,
            folder,
            shell,
        }
    }

    /// Where one of its databases is.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Executes statements in its database.
    pub(crate) fn execute(&self, text: &str) -> String {
        self.execute_in("postgres", text)
    }

    /// The same, where the server may be away.
    pub(crate) fn try_execute(&self, text: &str) -> Result<String, String> {
        let done = Command::new(self.programs.join("psql"))
            .args(["-qAt", "-v", "ON_ERROR_STOP=1", "-c", text, "-d"])
            .arg(self.url("postgres"))
            .output()
            .expect("psql runs");
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        let said = String::from_utf8(done.stdout).expect("text");
        Ok(said.trim().to_owned())
    }

    /// Executes statements in one of its databases.
    pub(crate) fn execute_in(&self, database: &str, text: &str) -> String {
        let arguments = ["-qAt", "-v", "ON_ERROR_STOP=1", "-c", text, "-d"];
        let said = self.client("psql", &arguments, database);
        said.trim().to_owned()
    }

    /// A client that has executed statements in one of its databases, and is idle until its input
    /// is closed. The statements return a row.
    pub(crate) fn idle_client(&self, database: &str, text: &str) -> Child {
        let mut client = Command::new(self.programs.join("psql"))
            .args(["-qAt", "-c", text, "-f", "-", "-d"])
            .arg(self.url(database))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql runs");
        let row = client.stdout.as_mut().expect("its output");
        row.read_exact(&mut [0])
            .expect("the statements are executed");
        client
    }

    /// Everything in one of its databases, as text.
    pub(crate) fn dump(&self, database: &str) -> String {
        self.client("pg_dump", &["-d"], database)
    }

    fn client(&self, name: &str, arguments: &[&str], database: &str) -> String {
        let done = Command::new(self.programs.join(name))
            .args(arguments)
            .arg(self.url(database))
            .output()
            .expect("it runs");
        let complaint = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{name} {arguments:?}: {complaint}");
        String::from_utf8(done.stdout).expect("text")
    }

    /// Ends and starts it again, so that all connections are lost.
    pub(crate) fn restart(&self) {
        self.control(&["-l", "log", "-m", "immediate", "restart"]);
    }

    /// Ends it; [`Self::restart`] starts it again.
    pub(crate) fn stop(&self) {
        self.control(&["-m", "immediate", "stop"]);
    }

    /// Makes a standby a server that takes writes.
    pub(crate) fn promote(&self) {
        self.control(&["promote"]);
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(&self) {
        let file = self.folder.join("data/postmaster.pid");
        let text = std::fs::read_to_string(file).expect("a running server");
        let id = text.lines().next().expect("a number");
        let status = Command::new("kill").args(["-KILL", id]).status();
        assert!(status.expect("kill runs").success());
    }

    fn control(&self, arguments: &[&str]) {
        let status = command(self.programs.join("pg_ctl"), &self.folder)
            .arg("-D")
            .arg(self.folder.join("data"))
            .args(["-w", "-t", "60"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let log = || std::fs::read_to_string(self.folder.join("log"));
        assert!(
            status.expect("runs").success(),
            "{arguments:?}: {:?}",
            log()
        );
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// A program in a folder, as a user that may run a server.
fn command(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    if is_super_user() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// A port that nobody listens on. It is not one of those that the system gives to connections, of
/// which one could take it before the server does.
pub(crate) fn free_port() -> u16 {
    loop {
        let random = RandomState::new().build_hasher().finish() % 16_384;
        let port = 16_384 + u16::try_from(random).expect("small");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub(crate) fn is_super_user() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A new folder for the files of a server.
fn folder() -> PathBuf {
    let free = rustix::fs::statvfs(MEMORY).map(|of| of.f_bavail * of.f_frsize);
    let folder = if free.is_ok_and(|free| free >= MEMORY_BYTES_MIN) {
        tempfile::tempdir_in(MEMORY)
    } else {
        tempfile::tempdir()
    };
    folder.expect("a folder").keep()
}

/// The folder with its programs: the given one, the newest of Debian's, or one of the path.
pub(crate) fn programs() -> PathBuf {
    if let Some(given) = std::env::var_os(PROGRAMS) {
        let given = PathBuf::from(given);
        assert!(has_all(&given), "{PROGRAMS}: no initdb, pg_ctl, psql there");
        return given;
    }
    let found = newest().or_else(of_path);
    found.expect(
        "PostgreSQL is not installed. The tests start a server of their own: install it \
         (Debian: apt-get install postgresql), or set INTERLOCK_TEST_POSTGRES to the folder that \
         has initdb, pg_ctl and psql",
    )
}

fn has_all(folder: &Path) -> bool {
    let names = ["initdb", "pg_ctl", "postgres", "psql", "pg_dump"];
    names.iter().all(|name| folder.join(name).exists())
}

/// Debian puts each version in a folder of its own.
fn newest() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let numbered = versions.filter_map(|version| {
        let name = version.ok()?.file_name();
        let number: f64 = name.to_str()?.parse().ok()?;
        let folder = Path::new("/usr/lib/postgresql").join(name).join("bin");
        has_all(&folder).then_some((number, folder))
    });
    let newest = numbered.max_by(|one, other| one.0.total_cmp(&other.0));
    newest.map(|(_, folder)| folder)
}

/// The folder that links in the path lead to has the other programs, too.
fn of_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find_map(|folder| {
        let program = folder.join("initdb").canonicalize().ok()?;
        let folder = program.parent()?.to_owned();
        has_all(&folder).then_some(folder)
    })
}
