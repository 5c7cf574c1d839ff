//! A server process.

use std::{
    collections::HashSet,
    io::{BufRead as _, BufReader, Write as _},
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use super::{Connection, PATIENCE, Rest, backend, database::Database};

/// A folder, and a database if the server does not store in the folder.
type Place = (Arc<tempfile::TempDir>, Option<Arc<Database>>);

/// A running server with ports of its own. Dropping it kills it.
pub(crate) struct Server {
    child: Child,
    folder: Arc<tempfile::TempDir>,
    /// Where it stores, if that is not a file in the folder.
    database: Option<Arc<Database>>,
    settings: Vec<(String, String)>,
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// Every line it has printed.
    pub(crate) log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server that forgets everything at its end.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// The same, with settings.
    pub(crate) fn with(settings: &[(&str, &str)]) -> Self {
        Self::spawn(
            &[&[("CYODA_STORAGE_BACKEND", "memory")], settings].concat(),
            None,
        )
    }

    /// A server on a file, started by another program, such as `prlimit`.
    pub(crate) fn under(program: &[&str], settings: &[(&str, &str)]) -> Self {
        Self::spawn_by(program, settings, None)
    }

    /// A server on a file, which [`Self::restart`] finds again.
    pub(crate) fn on_disk(settings: &[(&str, &str)]) -> Self {
        Self::spawn(settings, None)
    }

    fn spawn(settings: &[(&str, &str)], place: Option<Place>) -> Self {
        Self::spawn_by(&[], settings, place)
    }

    fn spawn_by(program: &[&str], settings: &[(&str, &str)], place: Option<Place>) -> Self {
        let (folder, database) = place.unwrap_or_else(|| {
            let folder = Arc::new(tempfile::tempdir().expect("a folder"));
            (folder, backend::database_for(settings))
        });
        let url = database.as_ref().map(|database| database.url());
        let over_it = backend::with_url(settings, url.as_deref());
        let mut child = by(program, command(folder.path(), &over_it))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let log = Arc::new(Mutex::new(Vec::new()));
        let complaints = BufReader::new(child.stderr.take().expect("piped")).lines();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in complaints.map_while(Result::ok) {
                let _ = writeln!(std::io::stderr(), "{line}");
                kept.lock().expect("no panic").push(line);
            }
        });
        let (ready, addresses) = mpsc::channel();
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if line.contains("interlock is ready") {
                    let _ =
                        ready.send(["http=", "grpc=", "admin="].map(|name| address(&line, name)));
                }
                kept.lock().expect("no panic").push(line);
            }
        });
        let addresses = addresses.recv_timeout(Duration::from_secs(20));
        let [http, grpc, admin] =
            addresses.unwrap_or_else(|_| panic!("not ready: {:#?}", log.lock().expect("no panic")));
        Self {
            child,
            folder,
            database,
            settings: settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            http,
            grpc,
            admin,
            log,
        }
    }

    /// Ends the process without a warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("kills");
        self.child.wait().expect("ends");
    }

    /// Asks the process to stop, and waits; its exit code.
    pub(crate) async fn stop(&mut self) -> Option<i32> {
        self.signal("-TERM");
        self.wait().await
    }

    /// What it has logged since its start.
    pub(crate) fn logged(&self) -> String {
        self.log.lock().expect("no panic").join("\n")
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(status.success());
    }

    /// Stops it where it stands. A signal takes effect when the threads run next, so all of them are
    /// waited for.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
        let tasks = format!("/proc/{}/task", self.child.id());
        let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
            let stat = task.and_then(|task| std::fs::read_to_string(task.path().join("stat")));
            // Its state is the first field after its name.
            stat.map_or(true, |stat| stat.contains(") T "))
        };
        let deadline = Instant::now() + PATIENCE;
        while !std::fs::read_dir(&tasks)
            .expect("its threads")
            .all(is_stopped)
        {
            assert!(Instant::now() < deadline, "its threads do not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for the end; the exit code. The test's own connections go on meanwhile: a peer that
    /// does nothing is waited for.
    pub(crate) async fn wait(&mut self) -> Option<i32> {
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Starts again on the same file, after the process has ended.
    pub(crate) fn restart(&mut self) {
        let settings: Vec<(&str, &str)> = self
            .settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        *self = Self::spawn(&settings, Some(self.place()));
    }

    fn place(&self) -> Place {
        (Arc::clone(&self.folder), self.database.clone())
    }

    /// The same, with other settings.
    pub(crate) fn restart_with(&mut self, settings: &[(&str, &str)]) {
        *self = Self::spawn(settings, Some(self.place()));
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The database that it stores in, if that is not a file in its folder.
    pub(super) fn database(&self) -> Option<&Database> {
        self.database.as_deref()
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(self.grpc, &[]).await
    }

    /// A connection of another caller, where the server lets callers say who they are.
    pub(crate) async fn connect_as(&self, metadata: &[(&'static str, &str)]) -> Connection {
        Connection::open(self.grpc, metadata).await
    }

    pub(crate) fn rest(&self) -> Rest {
        Rest::new(self.http)
    }

    /// For how long the process has worked, in hundredths of a second.
    pub(crate) fn worked(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.expect("readable");
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        let ticks = fields.split_whitespace().skip(11).take(2);
        ticks
            .map(|ticks| ticks.parse::<u64>().expect("a number"))
            .sum()
    }

    /// Where the process listens, and where it takes datagrams, as the kernel knows it.
    pub(crate) fn listening(&self) -> Vec<SocketAddr> {
        let process = format!("/proc/{}", self.child.id());
        let files = std::fs::read_dir(format!("{process}/fd")).expect("readable");
        let sockets: HashSet<String> = files
            .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok())
            .filter_map(|target| {
                let inode = target.to_str()?.strip_prefix("socket:[")?;
                Some(inode.strip_suffix(']')?.to_owned())
            })
            .collect();
        let mut found = Vec::new();
        for (table, state) in [
            ("tcp", LISTENS),
            ("tcp6", LISTENS),
            ("udp", UNCONNECTED),
            ("udp6", UNCONNECTED),
        ] {
            // A kernel without IPv6 has no such table.
            let rows = std::fs::read_to_string(format!("{process}/net/{table}"));
            for row in rows.unwrap_or_default().lines().skip(1) {
                let fields: Vec<&str> = row.split_whitespace().collect();
                if fields[3] == state && sockets.contains(fields[9]) {
                    found.push(socket(fields[1]));
                }
            }
        }
        found
    }

    /// The resident memory of the process, in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("readable");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .expect("a line");
        line.trim()
            .trim_end_matches(" kB")
            .parse::<u64>()
            .expect("a number")
            * 1_024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, with nothing of this machine's settings and any free ports.
pub(crate) fn command(folder: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlock"));
    command.env_clear().current_dir(folder).env("HOME", folder);
    for name in ["CYODA_HTTP_PORT", "CYODA_GRPC_PORT", "CYODA_ADMIN_PORT"] {
        command.env(name, "0");
    }
    command.envs(settings.iter().copied());
    command
}

/// The same command, started by another program.
fn by(program: &[&str], command: Command) -> Command {
    let [name, arguments @ ..] = program else {
        return command;
    };
    let mut started = Command::new(name);
    started
        .args(arguments)
        .arg(command.get_program())
        .env_clear();
    for (name, value) in command.get_envs() {
        started.env(name, value.unwrap_or_default());
    }
    if let Some(folder) = command.get_current_dir() {
        started.current_dir(folder);
    }
    started
}

/// How the kernel's tables say so.
const LISTENS: &str = "0A";
const UNCONNECTED: &str = "07";

/// An address as the kernel's tables write it: words of its own byte order, in hexadecimal.
fn socket(text: &str) -> SocketAddr {
    let (ip, port) = text.split_once(':').expect("an address");
    let words = ip.as_bytes().chunks(8).map(|word| {
        let word = std::str::from_utf8(word).expect("text");
        u32::from_str_radix(word, 16)
            .expect("a number")
            .to_ne_bytes()
    });
    let bytes: Vec<u8> = words.flatten().collect();
    let ip = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(bytes) => IpAddr::from(bytes),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(&bytes[..]).expect("16 bytes")),
    };
    SocketAddr::new(ip, u16::from_str_radix(port, 16).expect("a port"))
}

fn address(line: &str, name: &str) -> SocketAddr {
    let at = line.find(name).expect("an address") + name.len();
    let text = line[at..].split_whitespace().next().expect("an address");
    let mut address: SocketAddr = text.parse().expect("an address");
    if address.ip().is_unspecified() {
        address.set_ip([127, 0, 0, 1].into());
    }
    address
}
