//! Accepts connections, with TLS if it is enabled.
//!
//! All ports take their connections from here. A handshake is a task of its own: while one waits
//! for its client, connections are accepted and other handshakes continue.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{AbortHandle, JoinSet},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig, server::TlsStream};
use tracing::debug;

use super::{
    connections::{ConnectionSlot, Head, Registry},
    tls::{Protocol, Spoken},
};
use crate::telemetry::measure::{Handshake, Port};

/// The time limit of a handshake. A distant client needs three round trips.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How many handshakes of one listener may run at once. Beyond, a new one replaces the one that has
/// taken longest: real clients finish quickly.
const HANDSHAKES_MAX: usize = 1_024;

/// A connection that is ready to be read.
pub(super) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Where the connections of one listener get their places.
pub(super) struct Places {
    pub(super) registry: Registry,
    pub(super) port: Port,
    pub(super) head: Head,
}

/// The connections of one listener.
pub(super) struct Incoming {
    listener: TcpListener,
    places: Places,
    tls: Option<(watch::Receiver<Spoken>, Protocol)>,
    handshakes: JoinSet<Option<(Socket, ConnectionSlot)>>,
    /// The handshakes in order of their beginning; some have ended.
    begun: VecDeque<AbortHandle>,
    handshakes_max: usize,
}

impl Incoming {
    /// Connections without TLS.
    pub(super) fn plain(listener: TcpListener, places: Places) -> Self {
        Self {
            listener,
            places,
            tls: None,
            handshakes: JoinSet::new(),
            begun: VecDeque::new(),
            handshakes_max: HANDSHAKES_MAX,
        }
    }

    /// Connections with TLS, as configured when each begins.
    pub(super) fn over_tls(
        listener: TcpListener,
        places: Places,
        spoken: watch::Receiver<Spoken>,
        protocol: Protocol,
    ) -> Self {
        Self {
            tls: Some((spoken, protocol)),
            ..Self::plain(listener, places)
        }
    }

    /// The next connection that is ready. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> (Socket, ConnectionSlot) {
        loop {
            tokio::select! {
                Some(ended) = self.handshakes.join_next() => {
                    if let Ok(Some(ready)) = ended {
                        return ready;
                    }
                }
                // Waits a little if the process has no more files.
                (stream, peer) = Listener::accept(&mut self.listener) => {
                    let Places { registry, port, head } = &self.places;
                    let Some(place) = registry.admit(peer.ip(), *port, *head) else {
                        continue;
                    };
                    send_at_once(&stream);
                    match &self.tls {
                        None => return (Socket::Plain(stream), place),
                        Some((spoken, protocol)) => {
                            let config = spoken.borrow().with(*protocol);
                            self.begin(config, stream, peer, place);
                        }
                    }
                }
            }
        }
    }

    /// Makes every connection of this and the other listeners of the same registry end with the
    /// requests that it has open.
    pub(super) fn finish(&self) {
        self.places.registry.finish();
    }

    fn begin(
        &mut self,
        config: Arc<ServerConfig>,
        stream: TcpStream,
        peer: SocketAddr,
        place: ConnectionSlot,
    ) {
        while self.begun.front().is_some_and(AbortHandle::is_finished) {
            self.begun.pop_front();
        }
        if self.handshakes.len() >= self.handshakes_max
            && let Some(oldest) = self.begun.pop_front()
        {
            oldest.abort();
            Handshake::Displaced.count();
        }
        if self.begun.len() >= 2 * self.handshakes_max {
            self.begun.retain(|handshake| !handshake.is_finished());
        }
        let handshake = handshake(TlsAcceptor::from(config), stream, peer, place);
        self.begun.push_back(self.handshakes.spawn(handshake));
    }
}

async fn handshake(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    place: ConnectionSlot,
) -> Option<(Socket, ConnectionSlot)> {
    let accepted = tokio::select! {
        accepted = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)) => accepted,
        () = place.displaced() => return None,
    };
    match accepted {
        Ok(Ok(stream)) => {
            Handshake::Done.count();
            Some((Socket::Tls(Box::new(stream)), place))
        }
        Ok(Err(error)) => {
            Handshake::Failed.count();
            debug!(%peer, %error, "a TLS handshake failed");
            None
        }
        Err(_) => {
            Handshake::TooSlow.count();
            debug!(%peer, "a TLS handshake took too long");
            None
        }
    }
}

/// Disables Nagle's algorithm: an answer does not wait for the acknowledgement of the previous one,
/// which would take 40 ms.
fn send_at_once(stream: &TcpStream) {
    // If that fails, the socket still works.
    let _ = stream.set_nodelay(true);
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buffer),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio_rustls::{
        TlsConnector,
        rustls::{
            ClientConfig, RootCertStore,
            crypto::ring,
            pki_types::{CertificateDer, ServerName, pem::PemObject as _},
        },
    };

    use super::*;
    use crate::app::{
        config::{Config, Sources},
        connections::Caps,
        tls::Tls,
    };

    const AUTHORITY: &str = include_str!("../../tests/keys/tls-ca.pem");

    fn tls() -> Tls {
        let settings = [
            ("INTERLOCK_TLS_CERT_FILE", "tests/keys/tls-server.pem"),
            ("INTERLOCK_TLS_KEY_FILE", "tests/keys/tls-server.key"),
            ("HOME", "/home/someone"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let nowhere = std::path::Path::new("/nowhere");
        let sources = Sources::new(settings.into(), nowhere, None, nowhere).expect("no files");
        let config = Config::read(sources).expect("settings");
        Tls::load(config.tls.expect("files")).expect("of use")
    }

    async fn connect(address: SocketAddr) -> io::Result<()> {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(AUTHORITY.as_bytes()).expect("PEM");
        roots.add(authority).expect("an authority");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await.map(|_| ())
    }

    #[tokio::test]
    async fn when_there_are_too_many_handshakes_the_oldest_is_given_up() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let tls = tls();
        let places = Places {
            registry: Registry::new(Caps {
                total: 10,
                per_address: 0,
            }),
            port: Port::Rest,
            head: Head::OfEachRequest,
        };
        let mut incoming = Incoming::over_tls(listener, places, tls.spoken(), Protocol::Http1);
        incoming.handshakes_max = 2;
        let serving = tokio::spawn(async move {
            loop {
                let _ = incoming.next().await;
            }
        });
        let mut silent = Vec::new();
        for _ in 0..3 {
            silent.push(TcpStream::connect(address).await.expect("a socket"));
        }
        // No time passes that would end it.
        let ended = silent[0].read(&mut [0; 8]).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
        connect(address)
            .await
            .expect("the one that is done at once");
        serving.abort();
    }
}
