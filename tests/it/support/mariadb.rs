//! A private `MariaDB` server, started for one test.

use std::{
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::PATIENCE;

/// The user that a server of the super user is started as.
const NOBODY: u32 = 65_534;

/// A running server with one empty database, `shop`, whose user `shop` has the password `hidden`.
/// Dropping it ends it.
pub(crate) struct Mariadb {
    pub(crate) port: u16,
    folder: tempfile::TempDir,
    child: Child,
}

impl Mariadb {
    /// Starts one; none if it is not installed, which is printed.
    pub(crate) fn start() -> Option<Self> {
        Self::with(&[])
    }

    /// The same, with options of the server.
    #[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
    pub(crate) fn with(options: &[String]) -> Option<Self> {
        let (Some(server), Some(install)) = (found("mariadbd"), found("mariadb-install-db")) else {
            println!("SKIPPED: MariaDB is not installed (no mariadbd and mariadb-install-db)");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        if is_super_user() {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let data = format!("--datadir={}", path.join("data").display());
        let made = command(&install, path)
            .args(["--no-defaults", "--auth-root-authentication-method=normal"])
            .args(["--skip-test-db", &data])
            .status();
        assert!(made.expect("runs").success(), "mariadb-install-db");
        let child = command(&server, path)
            .args(["--no-defaults", &data, "--bind-address=127.0.0.1"])
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", path.join("socket").display()))
            .args([
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-buffer-pool-size=32M",
            ])
            .args(options)
            .spawn()
            .expect("starts");
        let server = Self {
            port,
            folder,
            child,
        };
        let until = Instant::now() + PATIENCE;
        while server.tried("SELECT 1").is_err() {
            assert!(Instant::now() < until, "MariaDB does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        server.execute(
            "CREATE DATABASE shop; CREATE USER shop@'%' IDENTIFIED BY 'hidden'; GRANT ALL ON shop.* TO shop@'%'",
        );
        Some(server)
    }

    /// Executes statements as its administrator.
    pub(crate) fn execute(&self, text: &str) -> String {
        self.tried(text).expect(text)
    }

    fn tried(&self, text: &str) -> Result<String, String> {
        let socket = format!("--socket={}", self.folder.path().join("socket").display());
        let done = Command::new("mariadb")
            .args(["--no-defaults", &socket, "-u", "root", "-NB", "-e", text])
            .output()
            .expect("mariadb runs");
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        let text = String::from_utf8(done.stdout).expect("text");
        Ok(text.trim().to_owned())
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if is_super_user() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn is_super_user() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A program of the path, or of a folder for those of administrators.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    let places = folders.into_iter().map(|folder| folder.join(name));
    places.into_iter().find(|place| place.exists())
}
