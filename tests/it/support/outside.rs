//! Systems outside: an HTTP server and a mail server of the test's own, which record what they are
//! sent and misbehave on request.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use super::PATIENCE;

/// A stream, whether it is secure or not.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A certificate for `localhost`, and who accepts with it.
pub(crate) struct Identity {
    /// The authority that vouches for it: PEM.
    pub(crate) authority: String,
    acceptor: TlsAcceptor,
}

impl Identity {
    pub(crate) fn new() -> Self {
        let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
        let own = own.expect("a certificate");
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .expect("a configuration");
        Self {
            authority: own.cert.pem(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
        }
    }
}

/// What an HTTP server does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    /// Answers with a status and JSON.
    Json(u16, Value),
    /// Answers with a status and this text, as `text/plain`.
    Text(u16, String),
    /// Answers with a status and no body.
    Empty(u16),
    /// Answers with 302 and this address.
    Redirect(String),
    /// Answers what is not HTTP.
    Garbage,
    /// Closes the connection without an answer, after it has acted on the request.
    Close,
    /// Begins an answer, and closes the connection in its middle.
    CloseWithin,
    /// Never answers.
    Hang,
    /// Answers as the other one, after a pause.
    After(Duration, Box<Self>),
    /// Answers the headers of the request as JSON.
    Echo,
}

/// A request that an HTTP server has received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// `POST /charges?x=1`
    pub(crate) line: String,
    pub(crate) headers: HashMap<String, String>,
    /// The text of the body.
    pub(crate) body: String,
    /// The number of its connection.
    pub(crate) connection: usize,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    pub(crate) fn key(&self) -> &str {
        self.headers
            .get("idempotency-key")
            .map_or("", String::as_str)
    }
}

/// What decides about every request.
type Decides = Box<dyn FnMut(&Seen) -> Behaviour + Send>;

#[derive(Default)]
struct State {
    decides: Option<Decides>,
    usual: HashMap<String, Behaviour>,
    /// Used up before the usual ones.
    next: HashMap<String, Vec<Behaviour>>,
    seen: Vec<Seen>,
    /// Whether requests with a known key are answered as the first, without another effect.
    deduplicates: bool,
    known: HashMap<String, Behaviour>,
    /// What it has acted on: the line and the body.
    effects: Vec<(String, String)>,
}

/// A running HTTP server. Dropping it ends it.
pub(crate) struct Outside {
    pub(crate) address: SocketAddr,
    is_secure: bool,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

impl Outside {
    /// A server that answers 404 until it gets an answer to give.
    pub(crate) async fn start() -> Self {
        Self::with(None).await
    }

    /// The same with TLS, as `localhost`.
    pub(crate) async fn secure(identity: &Identity) -> Self {
        Self::with(Some(identity.acceptor.clone())).await
    }

    async fn with(acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State::default()));
        let is_secure = acceptor.is_some();
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut connections = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                let number = connections.len();
                let (state, acceptor) = (Arc::clone(&shared), acceptor.clone());
                connections.push(AbortOnDrop(tokio::spawn(async move {
                    let stream: Box<dyn Stream> = match acceptor {
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                        None => Box::new(stream),
                    };
                    let _ = serve(stream, &state, number).await;
                })));
            }
        });
        Self {
            address,
            is_secure,
            state,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        if self.is_secure {
            format!("https://localhost:{}", self.address.port())
        } else {
            format!("http://{}", self.address)
        }
    }

    /// What it does with requests of this line, such as `POST /charges`, from now on. The line has
    /// no query.
    pub(crate) fn on(&self, line: &str, behaviour: Behaviour) -> &Self {
        self.lock().usual.insert(line.to_owned(), behaviour);
        self
    }

    /// What it does with the next request of this line, after those that were given before.
    pub(crate) fn next(&self, line: &str, behaviour: Behaviour) -> &Self {
        let mut state = self.lock();
        state
            .next
            .entry(line.to_owned())
            .or_default()
            .push(behaviour);
        drop(state);
        self
    }

    /// From now on, a request with a known `Idempotency-Key` has no second effect, and the answer
    /// of the first, also if that was never sent.
    pub(crate) fn deduplicates(&self) -> &Self {
        self.lock().deduplicates = true;
        self
    }

    /// From now on, all requests are decided about by this alone; the server keeps no record.
    pub(crate) fn decides(&self, decides: impl FnMut(&Seen) -> Behaviour + Send + 'static) {
        self.lock().decides = Some(Box::new(decides));
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }

    /// Those of one line.
    pub(crate) fn seen_at(&self, line: &str) -> Vec<Seen> {
        let is_its = |seen: &Seen| seen.line.split('?').next() == Some(line);
        self.seen().into_iter().filter(is_its).collect()
    }

    /// What it has acted on, as lines and bodies: requests that it has not refused with a status
    /// from 400, less the repeated ones where it deduplicates.
    pub(crate) fn effects(&self) -> Vec<(String, String)> {
        self.lock().effects.clone()
    }

    /// Waits until it has received so many requests.
    pub(crate) async fn has_seen(&self, count: usize) {
        let seen = async {
            while self.lock().seen.len() < count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let seen = tokio::time::timeout(PATIENCE, seen).await;
        seen.unwrap_or_else(|_| panic!("{count} requests: {:#?}", self.seen()));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn serve(
    stream: Box<dyn Stream>,
    state: &Mutex<State>,
    connection: usize,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(seen) = received(&mut stream, connection).await? {
        let mut behaviour = decided(&mut state.lock().expect("no panic"), &seen);
        while let Behaviour::After(pause, then) = behaviour {
            tokio::time::sleep(pause).await;
            behaviour = *then;
        }
        let (status, kind, body) = match behaviour {
            Behaviour::Json(status, body) => (status, "application/json", body.to_string()),
            Behaviour::Text(status, body) => (status, "text/plain", body),
            Behaviour::Empty(status) => (status, "text/plain", String::new()),
            Behaviour::Echo => {
                let headers = serde_json::to_string(&seen.headers).expect("JSON");
                (200, "application/json", headers)
            }
            Behaviour::Redirect(to) => {
                let answer =
                    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await?;
                continue;
            }
            Behaviour::Garbage => {
                stream.write_all(b"\0\x01 this is not HTTP\r\n\r\n").await?;
                return Ok(());
            }
            Behaviour::Close => return Ok(()),
            Behaviour::CloseWithin => {
                let begun = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":";
                return stream.write_all(begun).await;
            }
            Behaviour::Hang | Behaviour::After(..) => {
                std::future::pending::<()>().await;
                return Ok(());
            }
        };
        let head = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        // No body follows these.
        let body = if status == 204 { "" } else { &body };
        let head = if status == 204 {
            "HTTP/1.1 204 No Content\r\n\r\n".to_owned()
        } else {
            head
        };
        stream.write_all(format!("{head}{body}").as_bytes()).await?;
    }
    Ok(())
}

/// Records a request and decides what to do with it.
fn decided(state: &mut State, seen: &Seen) -> Behaviour {
    if let Some(decides) = &mut state.decides {
        return decides(seen);
    }
    state.seen.push(seen.clone());
    let line = seen.line.split('?').next().unwrap_or_default().to_owned();
    let key = format!("{line} {}", seen.key());
    if state.deduplicates
        && let Some(known) = state.known.get(&key)
    {
        return known.clone();
    }
    let usual = state.usual.get(&line).cloned();
    let usual = usual.unwrap_or_else(|| Behaviour::Text(404, format!("no {line}")));
    let next = state.next.get_mut(&line).filter(|next| !next.is_empty());
    let behaviour = next.map_or_else(|| usual.clone(), |next| next.remove(0));
    let is_refused = |behaviour: &Behaviour| matches!(behaviour, Behaviour::Json(status, _) | Behaviour::Text(status, _) | Behaviour::Empty(status) if *status >= 400);
    if !is_refused(&behaviour) {
        state.effects.push((seen.line.clone(), seen.body.clone()));
        // What it would have answered, had it not closed the connection.
        let known = match &behaviour {
            Behaviour::Json(..) | Behaviour::Text(..) | Behaviour::Empty(_) => behaviour.clone(),
            Behaviour::Redirect(_)
            | Behaviour::Garbage
            | Behaviour::Close
            | Behaviour::CloseWithin
            | Behaviour::Hang
            | Behaviour::After(..)
            | Behaviour::Echo => usual,
        };
        state.known.insert(key, known);
    }
    behaviour
}

/// The next request of a connection; none once it is closed.
async fn received(
    stream: &mut BufReader<Box<dyn Stream>>,
    connection: usize,
) -> std::io::Result<Option<Seen>> {
    let mut first = String::new();
    if stream.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or("0", String::as_str);
    let mut body = vec![0; length.parse().expect("a length")];
    stream.read_exact(&mut body).await?;
    let line = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    Ok(Some(Seen {
        line,
        headers,
        body: String::from_utf8(body).expect("text"),
        connection,
    }))
}

/// How a mail server secures its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Security {
    None,
    StartTls,
    Tls,
}

/// A message that a mail server has accepted.
#[derive(Debug, Clone)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    /// Head and body.
    pub(crate) text: String,
    pub(crate) was_secure: bool,
}

impl Mail {
    /// The value of a header, as it was sent.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let (head, _) = self.text.split_once("\r\n\r\n")?;
        let name = format!("{name}: ");
        head.lines().find_map(|line| line.strip_prefix(&name))
    }
}

struct MailState {
    mails: Mutex<Vec<Mail>>,
    refused: Mutex<Vec<String>>,
    ignores_quit: AtomicBool,
    /// The only user: the answer that `AUTH PLAIN` must have.
    pair: Option<String>,
    security: Security,
    acceptor: TlsAcceptor,
}

/// A running mail server. Dropping it ends it.
pub(crate) struct MailServer {
    pub(crate) port: u16,
    state: Arc<MailState>,
    task: JoinHandle<()>,
}

impl MailServer {
    /// A server that accepts mail, of this user alone if there is one.
    pub(crate) async fn start(
        security: Security,
        identity: &Identity,
        user: Option<(&str, &str)>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let pair = user.map(|(user, password)| STANDARD.encode(format!("\0{user}\0{password}")));
        let state = Arc::new(MailState {
            mails: Mutex::default(),
            refused: Mutex::default(),
            ignores_quit: AtomicBool::new(false),
            pair,
            security,
            acceptor: identity.acceptor.clone(),
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut connections = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                connections.push(AbortOnDrop(tokio::spawn(async move {
                    let _ = converse(stream, &state).await;
                })));
            }
        });
        Self { port, state, task }
    }

    /// From now on, mail to this address is refused.
    pub(crate) fn refuse(&self, address: &str) {
        let mut refused = self.state.refused.lock().expect("no panic");
        refused.push(address.to_owned());
    }

    /// From now on, nobody is answered who says goodbye.
    pub(crate) fn ignore_quit(&self) {
        self.state.ignores_quit.store(true, Ordering::Relaxed);
    }

    /// The messages so far.
    pub(crate) fn mails(&self) -> Vec<Mail> {
        self.state.mails.lock().expect("no panic").clone()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(stream: tokio::net::TcpStream, state: &MailState) -> std::io::Result<()> {
    if state.security == Security::Tls {
        let stream = state.acceptor.accept(stream).await?;
        return spoken(BufReader::new(Box::new(stream)), state, true, true)
            .await
            .map(|_| ());
    }
    let plain = BufReader::new(Box::new(stream) as Box<dyn Stream>);
    if let Some(plain) = spoken(plain, state, false, true).await? {
        let stream = state.acceptor.accept(plain.into_inner()).await?;
        spoken(BufReader::new(Box::new(stream)), state, true, false).await?;
    }
    Ok(())
}

/// A conversation, until its end or until it is to be made secure.
async fn spoken(
    mut stream: BufReader<Box<dyn Stream>>,
    state: &MailState,
    is_secure: bool,
    greets: bool,
) -> std::io::Result<Option<BufReader<Box<dyn Stream>>>> {
    if greets {
        stream.write_all(b"220 test ESMTP\r\n").await?;
    }
    let mut is_known = state.pair.is_none();
    let (mut from, mut to) = (String::new(), Vec::new());
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        let word = line.split([' ', ':']).next().unwrap_or_default();
        let address = || {
            let inner = line
                .split_once('<')
                .and_then(|(_, rest)| rest.split_once('>'));
            inner.map_or_else(String::new, |(inner, _)| inner.to_owned())
        };
        let answer: &[u8] = match word.to_ascii_uppercase().as_str() {
            "EHLO" if state.security == Security::StartTls && !is_secure => {
                b"250-test\r\n250-8BITMIME\r\n250 STARTTLS\r\n"
            }
            "EHLO" => b"250-test\r\n250-8BITMIME\r\n250 AUTH PLAIN LOGIN\r\n",
            "STARTTLS" => {
                stream.write_all(b"220 go ahead\r\n").await?;
                return Ok(Some(stream));
            }
            "AUTH" => {
                let given = line.rsplit(' ').next();
                is_known = given == state.pair.as_deref();
                if is_known {
                    b"235 welcome\r\n"
                } else {
                    b"535 who are you\r\n"
                }
            }
            "MAIL" if state.security == Security::StartTls && !is_secure => {
                b"530 must issue STARTTLS\r\n"
            }
            "MAIL" if !is_known => b"530 authentication required\r\n",
            "MAIL" => {
                from = address();
                b"250 ok\r\n"
            }
            "RCPT" => {
                let refused = state.refused.lock().expect("no panic");
                if refused.contains(&address()) {
                    b"550 no such mailbox\r\n"
                } else {
                    to.push(address());
                    b"250 ok\r\n"
                }
            }
            "DATA" => {
                stream.write_all(b"354 go ahead\r\n").await?;
                let mut text = String::new();
                loop {
                    let mut line = String::new();
                    if stream.read_line(&mut line).await? == 0 {
                        return Ok(None);
                    }
                    if line == ".\r\n" {
                        break;
                    }
                    text.push_str(line.strip_prefix('.').unwrap_or(&line));
                }
                let mail = Mail {
                    from: std::mem::take(&mut from),
                    to: std::mem::take(&mut to),
                    text,
                    was_secure: is_secure,
                };
                state.mails.lock().expect("no panic").push(mail);
                b"250 queued as 1\r\n"
            }
            "QUIT" if state.ignores_quit.load(Ordering::Relaxed) => continue,
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(None);
            }
            _ => b"250 ok\r\n",
        };
        stream.write_all(answer).await?;
    }
}
