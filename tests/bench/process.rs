//! Processes that are measured: the service, and the echo server of a floor.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use interlock::event::proto::service::cloud_events_service_client::CloudEventsServiceClient;
use tonic::transport::{Channel, Endpoint};

use crate::{Plan, machine, postgres::Postgres};

/// What the echo server says when it listens.
pub(crate) const ECHO_READY: &str = "echo is ready grpc=";

pub(crate) type Client = CloudEventsServiceClient<Channel>;

/// A running server. Dropping it kills it.
pub(crate) struct Process {
    child: Child,
    address: SocketAddr,
    http: SocketAddr,
}

impl Process {
    /// The service on a file in a folder, with free ports and nothing of this machine's settings.
    pub(crate) fn service(folder: &Path, plan: &Plan) -> Self {
        Self::service_with(folder, plan, &[])
    }

    /// The same, with settings of its own.
    pub(crate) fn service_with(folder: &Path, plan: &Plan, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new(&plan.program);
        command.env_clear().current_dir(folder).env("HOME", folder);
        for name in ["CYODA_HTTP_PORT", "CYODA_GRPC_PORT", "CYODA_ADMIN_PORT"] {
            command.env(name, "0");
        }
        command.env("CYODA_SQLITE_PATH", database(folder));
        // What is measured without an index must not get one on the way.
        command.env("INTERLOCK_SEARCH_INDEXES", "declared");
        command.envs(settings.iter().copied());
        command.envs(plan.settings.iter().map(|(name, value)| (name, value)));
        Self::start(&mut command)
    }

    /// The echo server.
    pub(crate) fn echo() -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        Self::start(Command::new(program).arg("echo"))
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let (ready, addresses) = mpsc::channel();
        // Goes on reading to the end, so that the process never waits for us.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if line.contains("is ready") {
                    let _ = ready.send((address_of(&line, "grpc="), address_of(&line, "http=")));
                }
            }
        });
        let (address, http) = addresses
            .recv_timeout(Duration::from_secs(20))
            .expect("the process is ready within 20 s");
        Self {
            child,
            address: address.expect("an address"),
            http: http.expect("an address"),
        }
    }

    /// Where REST is.
    pub(crate) const fn http(&self) -> SocketAddr {
        self.http
    }

    /// A client on a connection of its own.
    pub(crate) async fn client(&self) -> Client {
        let channel = Endpoint::from_shared(format!("http://{}", self.address))
            .expect("a URI")
            .tcp_nodelay(true)
            .connect()
            .await
            .expect("connects");
        CloudEventsServiceClient::new(channel)
    }

    pub(crate) async fn clients(&self, count: usize) -> Vec<Client> {
        let mut clients = Vec::with_capacity(count);
        for _ in 0..count {
            clients.push(self.client().await);
        }
        clients
    }

    /// How long its threads have been on a core.
    pub(crate) fn cpu_time(&self) -> Duration {
        machine::cpu_time_of(self.child.id())
    }

    /// Its resident memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        machine::memory_of(self.child.id())
    }

    /// The most it ever was.
    pub(crate) fn peak_memory(&self) -> u64 {
        machine::peak_memory_of(self.child.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The file of a service in a folder.
pub(crate) fn database(folder: &Path) -> std::path::PathBuf {
    folder.join("interlock.db")
}

/// A folder that is deleted in the end, on the disk of the build, which syncs like one.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// A `PostgreSQL` server that writes to a disk and syncs it, as it does by default. Its user gets
/// into few other folders.
pub(crate) fn postgres() -> Postgres {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder").keep();
    Postgres::in_folder(folder, "-c fsync=on")
}

fn address_of(line: &str, name: &str) -> Option<SocketAddr> {
    let at = line.find(name)? + name.len();
    let text = line[at..].split_whitespace().next()?;
    let mut address: SocketAddr = text.parse().ok()?;
    if address.ip().is_unspecified() {
        address.set_ip([127, 0, 0, 1].into());
    }
    Some(address)
}
