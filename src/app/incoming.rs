//! Connections as they come in, over TLS where that is asked for.
//!
//! Both doors take their connections from here. A handshake is a task of its own: while one
//! waits for its client, connections are accepted and other handshakes go on.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::connect_info,
    serve::{IncomingStream, Listener},
};
use futures_util::{Stream, stream};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{AbortHandle, JoinSet},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig, server::TlsStream};
use tonic::transport::server::{Connected, TcpConnectInfo};
use tracing::debug;

use super::tls::{Protocol, Spoken};
use crate::auth::Peer;
use crate::telemetry::measure::Handshake;

/// How long a handshake may take. A client far away needs three round trips.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How many handshakes of one listener may go on at once. Whoever comes when there are so many
/// takes the place of the one that has taken longest: real clients are done in a moment.
const HANDSHAKES_MAX: usize = 1_024;

/// A connection that is ready to be read.
pub(super) enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The connections of one listener.
pub(super) struct Incoming {
    listener: TcpListener,
    tls: Option<(watch::Receiver<Spoken>, Protocol)>,
    handshakes: JoinSet<Option<(Socket, SocketAddr)>>,
    /// Those of the handshakes, in the order in which they began; some have ended.
    begun: VecDeque<AbortHandle>,
    handshakes_max: usize,
}

impl Incoming {
    /// Connections without TLS.
    pub(super) fn plain(listener: TcpListener) -> Self {
        Self {
            listener,
            tls: None,
            handshakes: JoinSet::new(),
            begun: VecDeque::new(),
            handshakes_max: HANDSHAKES_MAX,
        }
    }

    /// Connections over TLS, as it is spoken when each begins.
    pub(super) fn over_tls(
        listener: TcpListener,
        spoken: watch::Receiver<Spoken>,
        protocol: Protocol,
    ) -> Self {
        Self {
            tls: Some((spoken, protocol)),
            ..Self::plain(listener)
        }
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The next connection that is ready. Dropping the future loses none.
    async fn next(&mut self) -> (Socket, SocketAddr) {
        loop {
            tokio::select! {
                Some(ended) = self.handshakes.join_next() => {
                    if let Ok(Some(ready)) = ended {
                        return ready;
                    }
                }
                // Waits a little where the process has no more files to give.
                (stream, peer) = Listener::accept(&mut self.listener) => {
                    send_at_once(&stream);
                    match &self.tls {
                        None => return (Socket::Plain(stream), peer),
                        Some((spoken, protocol)) => {
                            let config = spoken.borrow().with(*protocol);
                            self.begin(config, stream, peer);
                        }
                    }
                }
            }
        }
    }

    fn begin(&mut self, config: Arc<ServerConfig>, stream: TcpStream, peer: SocketAddr) {
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
        let handshake = handshake(TlsAcceptor::from(config), stream, peer);
        self.begun.push_back(self.handshakes.spawn(handshake));
    }

    /// The connections as a stream, which does not end.
    pub(super) fn stream(self) -> impl Stream<Item = io::Result<Socket>> {
        stream::unfold(self, |mut incoming| async {
            let (socket, _) = incoming.next().await;
            Some((Ok(socket), incoming))
        })
    }
}

impl Listener for Incoming {
    type Io = Socket;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Socket, SocketAddr) {
        self.next().await
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Where a request comes from, for those who count by that.
impl connect_info::Connected<IncomingStream<'_, Incoming>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Incoming>) -> Self {
        Self::of(stream.remote_addr().ip())
    }
}

async fn handshake(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
) -> Option<(Socket, SocketAddr)> {
    match timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => {
            Handshake::Done.count();
            Some((Socket::Tls(Box::new(stream)), peer))
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

/// An answer does not wait for the client to acknowledge the one before it: with Nagle's algorithm
/// that is 40 ms.
fn send_at_once(stream: &TcpStream) {
    // Where that cannot be had the socket still works.
    let _ = stream.set_nodelay(true);
}

impl Connected for Socket {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        match self {
            Self::Plain(stream) => stream.connect_info(),
            Self::Tls(stream) => stream.get_ref().0.connect_info(),
        }
    }
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
        let sources = Sources::new(settings.into(), nowhere, None, nowhere);
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
        let mut incoming = Incoming::over_tls(listener, tls.spoken(), Protocol::Http1);
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
