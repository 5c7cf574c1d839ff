//! A pooler in transaction mode with one connection to the server: after each transaction the
//! next client may use it, with all that its session keeps.

use std::sync::Arc;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Mutex, OwnedMutexGuard},
    task::JoinHandle,
};

/// A pooler on a port of its own. Dropping it ends it.
pub(crate) struct Pooler {
    pub(crate) port: u16,
    accepting: JoinHandle<()>,
}

/// The connection to the server, and what that has said at its begin.
struct Pooled {
    server: TcpStream,
    greeting: Vec<u8>,
}

/// The kinds of messages that matter here.
const QUERY: u8 = b'Q';
const SYNC: u8 = b'S';
const TERMINATE: u8 = b'X';
const READY: u8 = b'Z';

/// What a server that is ready says if no transaction is open.
const IDLE: u8 = b'I';

impl Pooler {
    /// A pooler before a server on a port of this machine.
    pub(crate) async fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let pooled = Arc::new(Mutex::new(None));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, server, Arc::clone(&pooled)));
            }
        });
        Self { port, accepting }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Serves a client until it ends its session, or is gone.
async fn serve(
    mut client: TcpStream,
    server: u16,
    pooled: Arc<Mutex<Option<Pooled>>>,
) -> Option<()> {
    // The first message has no kind.
    let start = rest_of(&mut client, Vec::new()).await?;
    {
        let mut pooled = pooled.lock().await;
        if pooled.is_none() {
            *pooled = Some(Pooled::begin(server, &start).await?);
        }
        client.write_all(&pooled.as_ref()?.greeting).await.ok()?;
    }
    loop {
        // Whoever begins a transaction has the connection until its end.
        let first = message(&mut client).await?;
        if first[0] == TERMINATE {
            return None;
        }
        let mut held = Arc::clone(&pooled).lock_owned().await;
        if transact(&mut client, first, &mut held).await.is_none() {
            // A client that is gone leaves no transaction open.
            *held = None;
            return None;
        }
    }
}

/// Passes on an answer; the state of the transaction that it ends with.
async fn answer(server: &mut TcpStream, client: &mut TcpStream) -> Option<u8> {
    loop {
        let said = message(server).await?;
        client.write_all(&said).await.ok()?;
        if said[0] == READY {
            return said.last().copied();
        }
    }
}

/// Passes on what a client sends and what it is answered, until no transaction is open any more.
async fn transact(
    client: &mut TcpStream,
    first: Vec<u8>,
    held: &mut OwnedMutexGuard<Option<Pooled>>,
) -> Option<()> {
    let server = &mut held.as_mut()?.server;
    let mut sent = first;
    loop {
        let kind = sent[0];
        if kind == TERMINATE {
            return None;
        }
        server.write_all(&sent).await.ok()?;
        if matches!(kind, QUERY | SYNC) && answer(server, client).await? == IDLE {
            return Some(());
        }
        sent = message(client).await?;
    }
}

impl Pooled {
    async fn begin(port: u16, start: &[u8]) -> Option<Self> {
        let mut server = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        server.write_all(start).await.ok()?;
        let mut greeting = Vec::new();
        loop {
            let said = message(&mut server).await?;
            greeting.extend_from_slice(&said);
            if said[0] == READY {
                return Some(Self { server, greeting });
            }
        }
    }
}

/// The next message, with its kind; none at the end.
async fn message(from: &mut TcpStream) -> Option<Vec<u8>> {
    let kind = from.read_u8().await.ok()?;
    rest_of(from, vec![kind]).await
}

/// The length, which counts itself, and the content.
async fn rest_of(from: &mut TcpStream, mut message: Vec<u8>) -> Option<Vec<u8>> {
    let length = from.read_u32().await.ok()?;
    message.extend_from_slice(&length.to_be_bytes());
    let begun = message.len();
    message.resize(begun + usize::try_from(length).ok()? - 4, 0);
    from.read_exact(&mut message[begun..]).await.ok()?;
    Some(message)
}
