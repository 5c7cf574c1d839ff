//! An HTTP/1.1 client of one server, which keeps a few connections open.
//!
//! A connection is driven by the request that uses it; an idle one by nobody, and looked at before
//! it is used again. So there are no tasks, and dropping a request closes its connection.

use std::{
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures_util::poll;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited as LimitedBody};
use hyper::{
    body::{Body as _, Incoming},
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout};
use tokio_util::either::Either;
use url::{Host, Url};

use super::{
    Reach, Tls, Unreachable, addresses, connect,
    limited::{HEAD_BYTES_MAX, Left, Limited},
    secure,
};

/// How long an idle connection is kept. Common servers close theirs after five seconds, and a
/// request on a connection that is being closed is lost.
const IDLE_MAX: Duration = Duration::from_secs(4);

/// The most bytes of an answer that are read at once, and the longest head.
const READ_BYTES_MAX: usize = 64 << 10;

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    Unreachable(#[from] Unreachable),
    #[error("no connection could be made within {0:?}")]
    Slow(Duration),
    /// Whether the server has acted on the request is unknown.
    #[error("the connection ended before a complete answer")]
    Ended,
    /// The same.
    #[error("the server sends more than {HEAD_BYTES_MAX} bytes before the head of its answer")]
    Endless,
    #[error("the answer has more than {bytes_max} bytes")]
    TooLarge {
        status: StatusCode,
        bytes_max: usize,
    },
}

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Asks one server.
#[derive(Debug)]
pub struct Client {
    server: Url,
    reach: Reach,
    tls: Option<Tls>,
    connect: Duration,
    bytes_max: usize,
    idle_max: usize,
    /// A mutex, not a task: held to push or pop one element.
    idle: Mutex<Vec<Idle>>,
}

#[derive(Debug)]
struct Idle {
    link: Link,
    since: Instant,
}

type Driven = Pin<Box<http1::Connection<TokioIo<Limited>, Full<Bytes>>>>;

/// A connection that can take a request.
#[derive(Debug)]
struct Link {
    sender: SendRequest<Full<Bytes>>,
    driven: Driven,
    left: Left,
}

/// What is left of a request that has no answer.
struct Unanswered {
    fault: Fault,
    /// Nothing of it was sent.
    unsent: Option<Request<Full<Bytes>>>,
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            unsent: None,
        }
    }
}

impl Client {
    /// A client of the server of this URL, whose answers have at most so many bytes. It keeps at
    /// most `idle_max` connections. Without `tls`, the authorities of the machine are trusted.
    pub fn new(
        server: Url,
        reach: Reach,
        tls: Option<Tls>,
        connect: Duration,
        bytes_max: usize,
        idle_max: usize,
    ) -> Self {
        Self {
            server,
            reach,
            tls,
            connect,
            bytes_max,
            idle_max,
            idle: Mutex::default(),
        }
    }

    /// Sends a request with path and query, and waits for the answer. `Host` is added. Before any of
    /// it is sent, `is_sent` is set.
    ///
    /// # Errors
    /// There is no complete answer.
    pub async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        is_sent: &AtomicBool,
    ) -> Result<Answer, Fault> {
        let headers = request.headers_mut();
        let authority = self.server.authority().parse();
        headers.insert(header::HOST, authority.map_err(|_| self.unresolved())?);
        while let Some(mut link) = self.idle_one() {
            // The server may have closed it meanwhile.
            if poll!(&mut link.driven).is_ready() || !link.sender.is_ready() {
                continue;
            }
            is_sent.store(true, Ordering::Relaxed);
            match self.exchange(link, request).await {
                Ok(answer) => return Ok(answer),
                Err(Unanswered {
                    unsent: Some(unsent),
                    ..
                }) => request = unsent,
                Err(unanswered) => return Err(unanswered.fault),
            }
        }
        let link = timeout(self.connect, self.open()).await;
        let link = link.map_err(|_| Fault::Slow(self.connect))??;
        is_sent.store(true, Ordering::Relaxed);
        let answer = self.exchange(link, request).await;
        answer.map_err(|unanswered| unanswered.fault)
    }

    /// Closes connections that have been idle for too long.
    pub fn close_idle(&self) {
        self.lock().retain(|idle| idle.since.elapsed() < IDLE_MAX);
    }

    fn unresolved(&self) -> Unreachable {
        Unreachable::Unresolved(self.server.host_str().unwrap_or_default().to_owned())
    }

    fn host(&self) -> Result<Host<&str>, Unreachable> {
        self.server.host().ok_or_else(|| self.unresolved())
    }

    async fn open(&self) -> Result<Link, Fault> {
        let host = self.host()?;
        let port = self.server.port_or_known_default().unwrap_or(443);
        let stream = connect(addresses(&host, port, self.reach).await?).await?;
        let stream = if self.server.scheme() == "https" {
            let tls = match &self.tls {
                Some(tls) => tls.clone(),
                None => Tls::of_this_machine()?,
            };
            secure(stream, &host, &tls).await?
        } else {
            Either::Left(stream)
        };
        let left = Left::new();
        let stream = TokioIo::new(Limited::new(stream, left.clone()));
        let made = http1::Builder::new()
            .max_buf_size(READ_BYTES_MAX)
            .handshake(stream)
            .await;
        let (sender, driven) = made.map_err(|_| Fault::Ended)?;
        Ok(Link {
            sender,
            driven: Box::pin(driven),
            left,
        })
    }

    async fn exchange(
        &self,
        link: Link,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, Unanswered> {
        let Link {
            mut sender,
            driven,
            left,
        } = link;
        let mut driven = Some(driven);
        left.await_head();
        let lost = || {
            if left.is_used_up() {
                Fault::Endless
            } else {
                Fault::Ended
            }
        };
        let asked = async {
            let answer = sender.try_send_request(request).await;
            let answer = answer.map_err(|mut error| Unanswered {
                fault: lost(),
                unsent: error.take_message(),
            })?;
            left.lift();
            self.read(answer).await.map_err(Unanswered::from)
        };
        // The connection must be driven for the exchange to proceed, and may end before it.
        let ended = async {
            if let Some(driven) = &mut driven {
                let _ = driven.await;
            }
            // One that has ended before it took the request returns it when it is dropped.
            driven = None;
            std::future::pending::<()>().await;
        };
        let answer = tokio::select! {
            biased;
            answer = asked => answer?,
            () = ended => return Err(Unanswered::from(lost())),
        };
        if let Some(driven) = driven {
            let link = Link {
                sender,
                driven,
                left,
            };
            self.keep(link).await;
        }
        Ok(answer)
    }

    async fn read(&self, answer: http::Response<Incoming>) -> Result<Answer, Fault> {
        let (head, body) = answer.into_parts();
        let too_large = Fault::TooLarge {
            status: head.status,
            bytes_max: self.bytes_max,
        };
        if body.size_hint().lower() > self.bytes_max as u64 {
            return Err(too_large);
        }
        let body = match LimitedBody::new(body, self.bytes_max).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(too_large),
            Err(_) => return Err(Fault::Ended),
        };
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
        })
    }

    /// Keeps a connection for the next request, if its server does.
    async fn keep(&self, mut link: Link) {
        if poll!(&mut link.driven).is_ready() || !link.sender.is_ready() {
            return;
        }
        let mut idle = self.lock();
        if idle.len() < self.idle_max {
            let since = Instant::now();
            idle.push(Idle { link, since });
        }
    }

    /// The connection that became idle last, if that was not too long ago.
    fn idle_one(&self) -> Option<Link> {
        let mut idle = self.lock();
        let last = idle.pop()?;
        if last.since.elapsed() >= IDLE_MAX {
            // The others have been idle for longer.
            idle.clear();
            return None;
        }
        Some(last.link)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock()
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
        time::sleep,
    };

    use super::*;

    /// Answers one request on one connection.
    async fn answer_one(server: TcpListener) -> TcpStream {
        let (mut stream, _) = server.accept().await.expect("a connection");
        let mut received = Vec::new();
        while !received.ends_with(b"\r\n\r\n") {
            let more = stream.read_buf(&mut received).await.expect("a request");
            assert!(more > 0, "the request is whole");
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        stream.write_all(answer).await.expect("is read");
        stream
    }

    #[tokio::test]
    async fn a_request_that_a_closed_connection_did_not_take_is_returned() {
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = server.local_addr().expect("an address");
        let server = tokio::spawn(answer_one(server));
        let url = Url::parse(&format!("http://{address}")).expect("a URL");
        let patience = Duration::from_secs(10);
        let client = Client::new(url, Reach::Everything, None, patience, 1_024, 1);
        let request = || Request::new(Full::<Bytes>::default());
        let is_sent = AtomicBool::new(false);
        let answer = client.send(request(), &is_sent).await.expect("an answer");
        assert_eq!((&*answer.body, is_sent.into_inner()), (&b"ok"[..], true));
        // It is looked at before the server closes it, and used after that.
        drop(server.await.expect("answers"));
        let link = client.idle_one().expect("was kept");
        sleep(Duration::from_millis(100)).await;
        let exchanged = timeout(patience, client.exchange(link, request())).await;
        let unanswered = exchanged.expect("ends").expect_err("nobody answers");
        assert!(unanswered.unsent.is_some(), "{}", unanswered.fault);
    }
}
