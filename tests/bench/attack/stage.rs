//! A server process that is attacked, and what is measured of it.

use std::{
    fs::OpenOptions,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::{
    Plan,
    attacks::{Attack, Confinement},
    caller::{Caller, KEY},
    innocent::{Connections, Innocent, Seen, TENANT},
    machine,
};

/// The tenant that attacks.
pub(crate) const ATTACKER: &str = "attacker";

/// The client of the innocent tenant, and its secret.
pub(crate) const CLIENT: (&str, &str) = ("known", "the-secret-of-the-known-client");

/// How long an attack may take to end once it is asked to.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How long the server may be busy after an attack before it is not waited for any more.
const BUSY_MAX: Duration = Duration::from_mins(1);

/// A server is idle where it uses less than that of one core, over that long.
const IDLE_SHARE: f64 = 0.2;
const IDLE_WINDOW: Duration = Duration::from_millis(250);

/// Where the server listens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
    pub(crate) admin: SocketAddr,
}

/// A server, and the tenants on it.
pub(crate) struct Stage {
    child: Child,
    pub(crate) addresses: Addresses,
    pub(crate) attacker: Caller,
    pub(crate) innocent: Caller,
    pub(crate) length: Duration,
    connections: Connections,
    entity: String,
    folder: tempfile::TempDir,
}

/// What was measured beside an attack.
pub(crate) struct Measured {
    pub(crate) seen: Seen,
    /// The most memory the process had, in bytes.
    pub(crate) peak: u64,
    /// How long after the attack the server was idle.
    pub(crate) busy_after: Duration,
    /// Whether the process was still there in the end.
    pub(crate) alive: bool,
}

impl Stage {
    pub(crate) async fn set(program: &Path, plan: &Plan, attack: &Attack) -> Self {
        // On the disk of the build, which syncs like one.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let (child, addresses) = start(program, folder.path(), plan, attack.confinement);
        let innocent = Caller::new(addresses.http).of(TENANT);
        innocent.model("small", r#"{"n":1,"s":"small"}"#).await;
        let entity = innocent.create("small", r#"{"n":0,"s":"small"}"#).await;
        Self {
            child,
            addresses,
            attacker: Caller::new(addresses.http).of(ATTACKER),
            innocent,
            length: plan.length,
            connections: attack.connections,
            entity,
            folder,
        }
    }

    /// Runs an attack beside the innocent client for as long as attacks last, and tells it to stop.
    pub(crate) async fn beside(&self, attack: impl AsyncFnOnce(CancellationToken)) -> Measured {
        self.beside_for(self.length, attack).await
    }

    /// The same, for another time.
    pub(crate) async fn beside_for(
        &self,
        length: Duration,
        attack: impl AsyncFnOnce(CancellationToken),
    ) -> Measured {
        let entity = self.entity.clone();
        let innocent = Innocent::begin(self.addresses, self.connections, entity);
        let stop = CancellationToken::new();
        let mut attack = std::pin::pin!(attack(stop.clone()));
        let is_over = tokio::time::timeout(length, &mut attack).await.is_ok();
        stop.cancel();
        if !is_over {
            // Beyond that, its clients just leave.
            let _ = tokio::time::timeout(LAST_WORDS, &mut attack).await;
        }
        let ended = Instant::now();
        let seen = tokio::task::spawn_blocking(|| innocent.end());
        let alive = self.is_alive();
        let busy_after = if alive {
            self.busy_after(ended).await
        } else {
            Duration::ZERO
        };
        let seen = seen.await.expect("the innocent client does not panic");
        let alive = self.is_alive();
        Measured {
            seen,
            peak: if alive { self.peak() } else { 0 },
            busy_after,
            alive,
        }
    }

    pub(crate) fn peak(&self) -> u64 {
        machine::peak_memory_of(self.child.id())
    }

    /// How many bytes the files of the service have.
    pub(crate) fn stored(&self) -> u64 {
        let files = std::fs::read_dir(self.folder.path()).expect("readable");
        files
            .filter_map(|file| file.ok()?.metadata().ok())
            .map(|file| file.len())
            .sum()
    }

    /// A process that has ended and is not waited for has no memory.
    pub(crate) fn is_alive(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        status.is_ok_and(|status| status.contains("VmRSS:"))
    }

    async fn busy_after(&self, ended: Instant) -> Duration {
        let mut used = machine::cpu_time_of(self.child.id());
        while ended.elapsed() < BUSY_MAX {
            let began = Instant::now();
            tokio::time::sleep(IDLE_WINDOW).await;
            if !self.is_alive() {
                break;
            }
            let now = machine::cpu_time_of(self.child.id());
            if now.saturating_sub(used) < began.elapsed().mul_f64(IDLE_SHARE) {
                return began.saturating_duration_since(ended);
            }
            used = now;
        }
        ended.elapsed()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(
    program: &Path,
    folder: &Path,
    plan: &Plan,
    confinement: Confinement,
) -> (Child, Addresses) {
    let program: PathBuf = program.canonicalize().expect("the program");
    let mut command = match confinement {
        Confinement::None => Command::new(program),
        Confinement::Files(most) => {
            let mut shell = Command::new("/bin/sh");
            let limit = format!("ulimit -n {most} && exec \"$0\"");
            shell.args(["-c", &limit]).arg(program);
            shell
        }
        Confinement::AddressSpace(most) => {
            let mut limited = Command::new("/usr/bin/prlimit");
            limited.arg(format!("--as={most}")).arg(program);
            limited
        }
    };
    // What it says is kept beside its file.
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("stderr.log"))
        .expect("a log");
    command
        .env_clear()
        .current_dir(folder)
        .env("HOME", folder)
        .env("CYODA_SQLITE_PATH", folder.join("interlock.db"))
        .env("CYODA_IAM_MODE", "jwt")
        .env("CYODA_JWT_SIGNING_KEY", KEY)
        .env("CYODA_BOOTSTRAP_CLIENT_ID", CLIENT.0)
        .env("CYODA_BOOTSTRAP_CLIENT_SECRET", CLIENT.1)
        .env("CYODA_BOOTSTRAP_TENANT_ID", TENANT)
        .env("CYODA_SUPPRESS_BANNER", "true")
        .stdout(Stdio::piped())
        .stderr(log);
    for name in ["CYODA_HTTP_PORT", "CYODA_GRPC_PORT", "CYODA_ADMIN_PORT"] {
        command.env(name, "0");
    }
    command.env("CYODA_LOG_LEVEL", "info");
    command.envs(plan.settings.iter().map(|(name, value)| (name, value)));
    let mut child = command.spawn().expect("starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let (ready, addresses) = mpsc::channel();
    // Reads on to the end, so that the process never waits for us.
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if line.contains("interlock is ready") {
                let of = |name| address(&line, name).expect("an address");
                let _ = ready.send(Addresses {
                    http: of("http="),
                    grpc: of("grpc="),
                    admin: of("admin="),
                });
            }
        }
    });
    let addresses = addresses
        .recv_timeout(Duration::from_secs(20))
        .expect("the server is ready within 20 s");
    (child, addresses)
}

fn address(line: &str, name: &str) -> Option<SocketAddr> {
    let at = line.find(name)? + name.len();
    let text = line[at..].split_whitespace().next()?;
    let mut address: SocketAddr = text.parse().ok()?;
    if address.ip().is_unspecified() {
        address.set_ip([127, 0, 0, 1].into());
    }
    Some(address)
}
