//! What is between a driver and the server of a database.
//!
//! The drivers read as long as there is something to read, without a pause in which their call could
//! end, and keep what they read. So each connection of a driver is one to a task of this process,
//! which is connected to the server. It gives the driver a bounded number of bytes, in messages of
//! bounded lengths. It also encrypts: to bound messages it has to read them.

use std::{
    hash::{BuildHasher as _, RandomState},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy, split},
    net::{TcpStream, UnixListener, UnixStream},
    time::sleep,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    frames::{BYTES_MAX, Broken, Frames, Protocol},
    link::Fault,
    server::{Security, Server},
};
use crate::outgoing::Connection;

/// The name that the driver of `PostgreSQL` adds to a place, with the number of the port.
const NAME: &str = ".s.PGSQL.1";
pub(super) const PORT: u16 = 1;

/// How many bytes are copied at once.
const CHUNK: usize = 16 << 10;

/// Of what a server sends for one statement, the driver has this much at once, and then a chunk after
/// each pause: in the pause it has read everything and leaves its thread to others.
const AT_ONCE: usize = 256 << 10;
const PAUSE_AFTER: usize = 64 << 10;
const PAUSE: Duration = Duration::from_millis(5);

/// What asks a server of `PostgreSQL` for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// How long the message is that asks a server of `MySQL` for TLS, with its head.
const MYSQL_SSL_REQUEST: usize = 36;

/// The version of the protocol of `MySQL` that greetings have, and what begins a refusal.
const MYSQL_VERSION: u8 = 10;
const MYSQL_REFUSES: u8 = 0xff;

/// The bit of a greeting of `MySQL` that offers TLS.
const MYSQL_OFFERS_TLS: u8 = 0x08;

/// The way to log in to `MySQL` that sends the password as it is.
const MYSQL_CLEAR_PASSWORD: &[u8] = b"mysql_clear_password";

/// A connection to a server, for one connection of a driver. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Relay {
    place: Place,
    flow: Arc<Flow>,
    _task: AbortOnDropHandle<()>,
}

/// What a server may still send, and why nothing more is taken from it.
#[derive(Debug)]
struct Flow {
    left: AtomicUsize,
    broken: OnceLock<Broken>,
    is_worn: AtomicBool,
}

impl Relay {
    /// Connects to a server, and waits for the driver.
    pub(super) async fn open(server: &Arc<Server>, protocol: Protocol) -> Result<Self, Fault> {
        let stream = server.connected().await?;
        let gone = |broken: Broken| Fault::Gone(broken.reason());
        let connection = match protocol {
            Protocol::Postgres => secured(stream, server).await.map_err(gone)?,
            // Its server speaks first.
            Protocol::Mysql => Connection::Left(stream),
        };
        let (place, listener) = Place::bound().map_err(|error| gone(error.into()))?;
        let flow = Arc::new(Flow {
            left: AtomicUsize::new(BYTES_MAX),
            broken: OnceLock::new(),
            is_worn: AtomicBool::new(false),
        });
        let (noted, server) = (Arc::clone(&flow), Arc::clone(server));
        let task = tokio::spawn(async move {
            let Some(mut client) = noted.note(accepted(&listener).await.map_err(Into::into)) else {
                return;
            };
            drop(listener);
            let frames = Frames::new(protocol);
            match connection {
                Connection::Left(stream) if protocol == Protocol::Mysql => {
                    mysql(client, stream, &server, frames, &noted).await;
                }
                connection @ (Connection::Left(_) | Connection::Right(_)) => {
                    let copied = copied(&mut client, connection, frames, &noted).await;
                    // Before the driver sees the end.
                    noted.note(copied);
                }
            }
        });
        Ok(Self {
            place,
            flow,
            _task: AbortOnDropHandle::new(task),
        })
    }

    /// The folder, as the driver of `PostgreSQL` names it.
    pub(super) fn folder(&self) -> &Path {
        &self.place.0
    }

    pub(super) fn path(&self) -> PathBuf {
        self.place.0.join(NAME)
    }

    /// Begins a statement, for which the server may send as much as for any other.
    pub(super) fn begin(&self) {
        self.flow.left.store(BYTES_MAX, Ordering::Relaxed);
    }

    /// Whether the connection is not to be used for another call.
    pub(super) fn is_worn(&self) -> bool {
        self.flow.is_worn.load(Ordering::Relaxed)
    }

    /// The fault of a driver that has found the connection closed.
    pub(super) fn explained(&self, fault: Fault) -> Fault {
        match (fault, self.flow.broken.get()) {
            (Fault::Gone(_), Some(broken)) => Fault::Gone(broken.reason()),
            (fault, _) => fault,
        }
    }

    /// The same of a statement that has a result.
    pub(super) fn explained_result(&self, fault: Fault) -> Fault {
        match (fault, self.flow.broken.get()) {
            (Fault::Gone(_), Some(Broken::TooMuch)) => Fault::TooLarge,
            (fault, _) => self.explained(fault),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Other(error.to_string())
    }
}

impl Flow {
    /// Takes some bytes, and returns how many were taken for this statement before.
    fn take(&self, bytes: usize) -> Result<usize, Broken> {
        let taken = |left: usize| left.checked_sub(bytes);
        let before = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
        before
            .map(|left| BYTES_MAX - left)
            .map_err(|_| Broken::TooMuch)
    }

    /// Notes a failure, and returns anything else.
    fn note<T>(&self, done: Result<T, Broken>) -> Option<T> {
        done.map_err(|broken| self.broken.set(broken)).ok()
    }
}

/// Where a driver connects to. On Linux it is a name without a file; elsewhere a folder that is
/// removed in the end.
#[derive(Debug)]
struct Place(PathBuf);

impl Place {
    fn bound() -> io::Result<(Self, UnixListener)> {
        // Nobody else knows it beforehand.
        let name = format!("interlock-{:016x}", RandomState::new().hash_one(NAME));
        #[cfg(target_os = "linux")]
        let place = Self(PathBuf::from(format!("\0{name}")));
        #[cfg(not(target_os = "linux"))]
        let place = Self::made(&name)?;
        let listener = UnixListener::bind(place.0.join(NAME))?;
        Ok((place, listener))
    }

    #[cfg(not(target_os = "linux"))]
    fn made(name: &str) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;

        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

#[cfg(not(target_os = "linux"))]
impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The connection of the driver. Other processes can see the place.
async fn accepted(listener: &UnixListener) -> io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        let is_own = |pid: i32| pid.unsigned_abs() == std::process::id();
        if stream
            .peer_cred()
            .is_ok_and(|peer| peer.pid().is_none_or(is_own))
        {
            return Ok(stream);
        }
    }
}

/// Makes a connection to a server of `PostgreSQL` secure, if it is to be.
async fn secured(mut stream: TcpStream, server: &Server) -> Result<Connection, Broken> {
    let Some(security) = server.security() else {
        return Ok(Connection::Left(stream));
    };
    stream.write_all(&SSL_REQUEST).await?;
    match stream.read_u8().await? {
        b'S' => Ok(server.secured(stream, security).await?),
        b'N' if !security.is_required => Ok(Connection::Left(stream)),
        b'N' => Err(Broken::Other("the server does not support TLS".to_owned())),
        _ => Err(Broken::Other(
            "the server does not speak the protocol of PostgreSQL".to_owned(),
        )),
    }
}

/// Copies between a driver and a server of `MySQL`, which become secure after a greeting. The driver
/// says how it logs in as over a secure connection, so it has one, too.
async fn mysql(
    mut client: UnixStream,
    mut stream: TcpStream,
    server: &Server,
    mut frames: Frames,
    flow: &Flow,
) {
    let security = server.security();
    let greeted = greeted(&mut client, &mut stream, &mut frames, flow, security).await;
    let Some(greeted) = flow.note(greeted) else {
        return;
    };
    let security = match greeted {
        Greeted::Secure(security) => security,
        Greeted::Plain => {
            let copied = copied(&mut client, Connection::Left(stream), frames, flow).await;
            flow.note(copied);
            return;
        }
        // The driver has read why.
        Greeted::Refused => return,
    };
    let secure = async {
        let mut request = [0; MYSQL_SSL_REQUEST];
        client.read_exact(&mut request).await?;
        stream.write_all(&request).await?;
        server.secured(stream, security).await
    };
    let Some(connection) = flow.note(secure.await) else {
        return;
    };
    let Some(acceptor) = acceptor() else {
        return;
    };
    if let Ok(mut client) = acceptor.accept(client).await {
        let copied = copied(&mut client, connection, frames, flow).await;
        flow.note(copied);
    }
}

/// What follows the greeting of a server of `MySQL`.
#[derive(Debug)]
enum Greeted<'a> {
    Refused,
    Plain,
    Secure(Security<'a>),
}

/// Passes on the greeting of a server of `MySQL`.
async fn greeted<'a>(
    client: &mut UnixStream,
    stream: &mut TcpStream,
    frames: &mut Frames,
    flow: &Flow,
    security: Option<Security<'a>>,
) -> Result<Greeted<'a>, Broken> {
    let mut greeting = vec![0; 4];
    stream.read_exact(&mut greeting).await?;
    let length = u32::from_le_bytes([greeting[0], greeting[1], greeting[2], 0]);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    flow.take(greeting.len() + length)?;
    greeting.resize(greeting.len() + length, 0);
    stream.read_exact(&mut greeting[4..]).await?;
    frames.check(&greeting)?;
    let greeted = admitted(&mut greeting[4..], security)?;
    client.write_all(&greeting).await?;
    Ok(greeted)
}

/// Decides what follows a greeting. The driver makes TLS with any server that offers it, and
/// verifies nothing: so the greeting offers it only if the relay makes it.
fn admitted<'a>(
    greeting: &mut [u8],
    security: Option<Security<'a>>,
) -> Result<Greeted<'a>, Broken> {
    let broken = |reason: &str| Err(Broken::Other(reason.to_owned()));
    if greeting.first() == Some(&MYSQL_REFUSES) {
        return Ok(Greeted::Refused);
    }
    let needs_password = greeting
        .windows(MYSQL_CLEAR_PASSWORD.len())
        .any(|part| part == MYSQL_CLEAR_PASSWORD);
    let Some(flags) = flags(greeting) else {
        return broken("the server does not speak the protocol of MySQL");
    };
    let offers_tls = *flags & MYSQL_OFFERS_TLS != 0;
    let greeted = match security {
        Some(security) if offers_tls => Greeted::Secure(security),
        Some(security) if security.is_required => {
            return broken("the server does not support TLS");
        }
        Some(_) | None => {
            *flags &= !MYSQL_OFFERS_TLS;
            Greeted::Plain
        }
    };
    let is_verified = matches!(&greeted, Greeted::Secure(security) if security.is_verified());
    if needs_password && !is_verified {
        return broken("the server asks for the password itself; set `tls_ca` to verify it first");
    }
    Ok(greeted)
}

/// The byte of a greeting that says whether it offers TLS: after the version of the protocol, the
/// text of one that ends with zero, and 13 other bytes is the first of the flags.
fn flags(greeting: &mut [u8]) -> Option<&mut u8> {
    let (version, rest) = greeting.split_first_mut()?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    rest.get_mut(end + 15).filter(|_| *version == MYSQL_VERSION)
}

/// What drivers of this process are secure with. They do not verify it.
fn acceptor() -> Option<&'static TlsAcceptor> {
    static ACCEPTOR: OnceLock<Option<TlsAcceptor>> = OnceLock::new();
    let made = ACCEPTOR.get_or_init(|| {
        let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).ok()?;
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).ok()?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .ok()?
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .ok()?;
        Some(TlsAcceptor::from(Arc::new(config)))
    });
    made.as_ref()
}

/// Copies until one of them closes, or the server sends too much.
async fn copied(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    server: Connection,
    mut frames: Frames,
    flow: &Flow,
) -> Result<(), Broken> {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = split(server);
    let up = async {
        copy(&mut from_client, &mut to_server).await?;
        Ok(())
    };
    let down = async {
        let mut chunk = vec![0; CHUNK];
        let mut unpaused = 0;
        loop {
            let count = from_server.read(&mut chunk).await?;
            if count == 0 {
                return Ok(());
            }
            let before = flow.take(count)?;
            frames.check(&chunk[..count])?;
            flow.is_worn.fetch_or(frames.are_many(), Ordering::Relaxed);
            unpaused += count;
            if before > AT_ONCE && unpaused > PAUSE_AFTER {
                sleep(PAUSE).await;
                unpaused = 0;
            }
            to_client.write_all(&chunk[..count]).await?;
            to_client.flush().await?;
        }
    };
    tokio::select! {
        done = up => done,
        done = down => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::Tls;

    fn greeting(version: u8, flags: u8, plugin: &str) -> Vec<u8> {
        let mut greeting = vec![version];
        greeting.extend(b"11.4.2\0\x01\0\0\0abcdefgh\0");
        greeting.extend([0xfe, flags]);
        greeting.extend(plugin.as_bytes());
        greeting
    }

    #[test]
    fn tls_is_offered_to_the_driver_only_if_the_relay_makes_it() {
        let required = || Some(Security::required(None));
        let mut offered = greeting(10, 0xff, "");
        let secure = admitted(&mut offered, required());
        assert!(matches!(secure, Ok(Greeted::Secure(_))), "{secure:?}");
        let plain = admitted(&mut offered, None);
        assert!(matches!(plain, Ok(Greeted::Plain)), "{plain:?}");
        assert_eq!(offered, greeting(10, 0xf7, ""));
        let refused = admitted(&mut b"\xff\x10\x04Too many connections".to_vec(), None);
        assert!(matches!(refused, Ok(Greeted::Refused)), "{refused:?}");
    }

    #[test]
    fn a_greeting_that_would_get_around_tls_is_refused() {
        let required = || Some(Security::required(None));
        let verified = Tls::unverified();
        let own = || Some(Security::required(verified.as_ref()));
        let clear = "mysql_clear_password";
        assert!(admitted(&mut greeting(10, 0xff, clear), own()).is_ok());
        for (mut greeting, security) in [
            (greeting(11, 0xff, ""), required()),
            (greeting(9, 0xff, ""), None),
            (greeting(10, 0xf7, ""), required()),
            (greeting(10, 0xff, clear), required()),
            (greeting(10, 0xff, clear), None),
            (b"\x0a5".to_vec(), None),
            (Vec::new(), None),
        ] {
            let came = admitted(&mut greeting, security);
            assert!(
                matches!(came, Err(Broken::Other(_))),
                "{greeting:?}: {came:?}"
            );
        }
    }
}
