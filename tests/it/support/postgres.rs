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
    pub(crate) fn with(setting: &str) -> Option<Self> {
        Self::within(tempfile::tempdir().expect("a folder"), setting)
    }

    /// The same, in a folder.
    pub(crate) fn within(folder: tempfile::TempDir, setting: &str) -> Option<Self> {
        let server = Self::none(folder)?;
        let data = server.data();
        server.run(
            "initdb",
            &[
                "-D", &data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8",
            ],
        );
        server.begin(setting);
        Some(server)
    }

    /// A standby of a server that is reached at a port, named `standby`.
    pub(crate) fn standby_of(port: u16) -> Option<Self> {
        let server = Self::none(tempfile::tempdir().expect("a folder"))?;
        let primary = format!("host=127.0.0.1 port={port} user=postgres application_name=standby");
        server.run(
            "pg_basebackup",
            &[
                "-d",
                &primary,
                "-D",
                &server.data(),
                "-R",
                "-c",
                "fast",
                "-N",
            ],
        );
        server.begin("fsync=off");
        Some(server)
    }

    /// What is not there yet.
    #[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
    fn none(folder: tempfile::TempDir) -> Option<Self> {
        let Some(programs) = programs() else {
            println!("SKIPPED: PostgreSQL is not installed (no initdb and pg_ctl)");
            return None;
        };
        if is_super_user() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        Some(Self {
            port: free_port(),
            programs,
            folder,
        })
    }

    fn begin(&self, setting: &str) {
        let options = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c {setting} -c timezone=UTC \
             -c max_connections=400",
            self.port,
            self.folder.path().display()
        );
        let log = self.folder.path().join("log").display().to_string();
        self.run(
            "pg_ctl",
            &[
                "-D",
                &self.data(),
                "-w",
                "-t",
                "60",
                "-l",
                &log,
                "-o",
                &options,
                "start",
            ],
        );
    }

    /// Makes a standby a server that takes writes.
    pub(crate) fn promote(&self) {
        let data = self.data();
        self.run("pg_ctl", &["-D", &data, "-w", "-t", "60", "promote"]);
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(&self) {
        let file = self.folder.path().join("data/postmaster.pid");
        let text = std::fs::read_to_string(file).expect("a running server");
        let id = text.lines().next().expect("a number");
        let status = Command::new("kill").args(["-KILL", id]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Executes statements in its database.
    pub(crate) fn execute(&self, text: &str) -> String {
        self.try_execute(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// The same, where the server may be away.
    pub(crate) fn try_execute(&self, text: &str) -> Result<String, String> {
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
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        let text = String::from_utf8(done.stdout).expect("text");
        Ok(text.trim().to_owned())
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
