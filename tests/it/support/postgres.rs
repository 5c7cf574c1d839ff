//! A private `PostgreSQL` server, started for one test.

use std::{
    net::TcpListener,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The user that a server of the super user is started as, which it insists on.
pub(crate) const NOBODY: u32 = 65_534;

/// A running server with one empty database, `postgres`. Dropping it ends it.
pub(crate) struct Postgres {
    pub(crate) port: u16,
    programs: PathBuf,
    folder: tempfile::TempDir,
}

impl Postgres {
    /// Starts one; none if it is not installed, which is printed.
    pub(crate) fn start() -> Option<Self> {
        Self::with("fsync=off")
    }

    /// The same, with a setting of the server.
    #[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
    pub(crate) fn with(setting: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            println!("SKIPPED: PostgreSQL is not installed (no initdb and pg_ctl)");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        if is_super_user() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        let port = free_port();
        let server = Self {
            port,
            programs,
            folder,
        };
        let data = server.data();
        server.run(
            "initdb",
            &[
                "-D", &data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8",
            ],
        );
        let options = format!(
            "-p {port} -k {} -c listen_addresses=127.0.0.1 -c {setting} -c timezone=UTC \
             -c max_connections=400",
            server.folder.path().display()
        );
        let log = server.folder.path().join("log").display().to_string();
        server.run(
            "pg_ctl",
            &[
                "-D", &data, "-w", "-t", "60", "-l", &log, "-o", &options, "start",
            ],
        );
        Some(server)
    }

    /// Executes statements in its database.
    pub(crate) fn execute(&self, text: &str) -> String {
        let port = self.port.to_string();
        let place = [
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "postgres",
            "-qAt",
            "-v",
            "ON_ERROR_STOP=1",
        ];
        let done = Command::new(self.program("psql"))
            .args(place)
            .args(["-c", text])
            .output();
        let done = done.expect("psql runs");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    /// Ends and starts it again, so that all connections are lost.
    pub(crate) fn restart(&self) {
        self.run(
            "pg_ctl",
            &[
                "-D",
                &self.data(),
                "-w",
                "-t",
                "60",
                "-m",
                "immediate",
                "restart",
            ],
        );
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(self.program(program));
        command.args(arguments).current_dir(self.folder.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if is_super_user() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let status = command.status().expect("runs");
        let log = || std::fs::read_to_string(self.folder.path().join("log"));
        assert!(
            status.success(),
            "{program} {arguments:?}: {status}: {:?}",
            log()
        );
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.data();
        let mut command = Command::new(self.program("pg_ctl"));
        command
            .args(["-D", &data, "-m", "immediate", "stop"])
            .current_dir(self.folder.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if is_super_user() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let _ = command.status();
    }
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

pub(crate) fn is_super_user() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// The folder with its programs: one of the path, or of the newest version that Debian has put
/// beside others.
pub(crate) fn programs() -> Option<PathBuf> {
    let has_all = |folder: &Path| {
        ["initdb", "pg_ctl", "postgres"]
            .iter()
            .all(|name| folder.join(name).exists())
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    // The folder that links lead to has the other programs, too.
    let of_path = std::env::split_paths(&path)
        .filter_map(|folder| {
            Some(
                folder
                    .join("initdb")
                    .canonicalize()
                    .ok()?
                    .parent()?
                    .to_owned(),
            )
        })
        .find(|folder| has_all(folder));
    of_path.or_else(|| {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let mut found: Vec<PathBuf> = versions
            .filter_map(|version| Some(version.ok()?.path().join("bin")))
            .collect();
        found.retain(|folder| has_all(folder));
        found.sort();
        found.pop()
    })
}
