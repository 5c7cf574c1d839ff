//! Fetches the documents of providers.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::{body::Body as _, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::either::Either;
use url::Host;

use crate::outgoing::{self, Connection, Reach, Tls, Unreachable};

use super::{FetchRules, ProviderUrl};

/// The maximum size of an answer in bytes; real providers need a hundredth of it.
const BYTES_MAX: usize = 1 << 20;

/// How many providers are contacted at once.
const AT_ONCE: usize = 8;

const USER_AGENT: &str = concat!("interlock/", env!("CARGO_PKG_VERSION"));

/// Why fetching failed. Reported to operators and to the tenant that registered the provider; it
/// does not contain anything from the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfetched {
    #[error(
        "`{0}` is not on the public internet (CYODA_OIDC_ALLOW_PRIVATE_NETWORKS=true allows it)"
    )]
    Blocked(String),
    #[error(
        "`{0}` is a name of this machine or of a local network (CYODA_OIDC_ALLOW_PRIVATE_NETWORKS=true allows it)"
    )]
    Local(String),
    #[error("`{0}` has no address")]
    Unresolved(String),
    #[error("no connection could be made: {0}")]
    Unconnected(String),
    #[error("this machine has no root certificates; set SSL_CERT_FILE")]
    NoRoots,
    #[error("it did not answer within {0:?}")]
    Late(Duration),
    #[error("too many providers are being contacted; none finished within {0:?}")]
    NoTurn(Duration),
    #[error("the answer has the status {0}; redirects are not followed")]
    Status(StatusCode),
    #[error("the answer has more than {BYTES_MAX} bytes")]
    TooLarge,
    #[error("the answer could not be read")]
    Unreadable,
    #[error("{what} is not usable: {reason}")]
    Unusable { what: &'static str, reason: String },
}

impl From<Unreachable> for Unfetched {
    fn from(error: Unreachable) -> Self {
        match error {
            Unreachable::Blocked(host) => Self::Blocked(host),
            Unreachable::Local(host) => Self::Local(host),
            Unreachable::Unresolved(host) => Self::Unresolved(host),
            Unreachable::Unconnected(reason) => Self::Unconnected(reason),
            Unreachable::NoRoots => Self::NoRoots,
        }
    }
}

/// Fetches from providers. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Fetcher(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: FetchRules,
    turns: Semaphore,
}

impl Fetcher {
    pub(super) fn new(rules: FetchRules) -> Self {
        Self(Arc::new(Inner {
            rules,
            turns: Semaphore::new(AT_ONCE),
        }))
    }

    pub(super) fn rules(&self) -> &FetchRules {
        &self.0.rules
    }

    /// Fetches a document. Redirects and compressed answers are not accepted.
    pub(super) async fn get(&self, place: &ProviderUrl) -> Result<Bytes, Unfetched> {
        let rules = &self.0.rules;
        let _turn = timeout(rules.turn, self.0.turns.acquire())
            .await
            .map_err(|_| Unfetched::NoTurn(rules.turn))?;
        let connection = timeout(rules.connect, self.connect(place))
            .await
            .map_err(|_| Unfetched::Late(rules.connect))??;
        timeout(rules.answer, ask(place, connection))
            .await
            .map_err(|_| Unfetched::Late(rules.answer))?
    }

    /// Whether an address may be contacted now. It is resolved again for every request.
    pub(super) async fn check(&self, place: &ProviderUrl) -> Result<(), Unfetched> {
        let rules = &self.0.rules;
        let host = host(place)?;
        let found = outgoing::addresses(&host, place.port(), self.reach());
        let found = timeout(rules.connect, found).await;
        found.map_err(|_| Unfetched::Late(rules.connect))??;
        Ok(())
    }

    fn reach(&self) -> Reach {
        if self.0.rules.allows_private {
            Reach::Everything
        } else {
            Reach::PublicInternet
        }
    }

    /// Connects to one of the checked addresses; the name is not resolved a second time.
    async fn connect(&self, place: &ProviderUrl) -> Result<Connection, Unfetched> {
        let host = host(place)?;
        let addresses = outgoing::addresses(&host, place.port(), self.reach()).await?;
        let stream = outgoing::connect(addresses).await?;
        if !place.is_https() {
            return Ok(Either::Left(stream));
        }
        Ok(outgoing::secure(stream, &host, &Tls::of_this_machine()?).await?)
    }
}

fn host(place: &ProviderUrl) -> Result<Host<&str>, Unfetched> {
    let unresolved = || Unfetched::Unresolved(String::new());
    place.host().ok_or_else(unresolved)
}

/// One request on its own connection.
async fn ask(place: &ProviderUrl, connection: Connection) -> Result<Bytes, Unfetched> {
    let unreadable = |_: hyper::Error| Unfetched::Unreadable;
    let (mut sender, driven) = http1::handshake(TokioIo::new(connection))
        .await
        .map_err(unreadable)?;
    let request = Request::get(place.path_and_query())
        .header(header::HOST, place.authority())
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|_| Unfetched::Unreadable)?;
    let exchange = async {
        let answer = sender.send_request(request).await.map_err(unreadable)?;
        if answer.status() != StatusCode::OK {
            return Err(Unfetched::Status(answer.status()));
        }
        if answer.body().size_hint().lower() > BYTES_MAX as u64 {
            return Err(Unfetched::TooLarge);
        }
        match Limited::new(answer.into_body(), BYTES_MAX).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(Unfetched::TooLarge),
            Err(_) => Err(Unfetched::Unreadable),
        }
    };
    // The connection must be driven for the exchange to proceed, and ends before or after it.
    let driven = async {
        let _ = driven.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        body = exchange => body,
        () = driven => Err(Unfetched::Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    const OPEN: FetchRules = FetchRules {
        needs_https: false,
        allows_private: true,
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(5),
        turn: Duration::from_secs(5),
    };

    /// Gives this answer to every connection, and then nothing more.
    async fn answering(answer: String) -> ProviderUrl {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1_024];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                open.push(stream);
            }
        });
        ProviderUrl::parse(&format!("http://{address}/x"), &OPEN).expect("a place")
    }

    async fn fetched(answer: String, rules: FetchRules) -> Result<String, Unfetched> {
        let place = answering(answer).await;
        let body = Fetcher::new(rules).get(&place).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    fn sized(status: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}")
    }

    #[tokio::test]
    async fn an_answer_is_read_up_to_a_bound_and_nothing_is_followed() {
        let got = |answer: String| fetched(answer, OPEN);
        assert_eq!(got(sized("200 OK", "yes")).await.as_deref(), Ok("yes"));
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n";
        assert_eq!(got(chunked.to_owned()).await.as_deref(), Ok("yes"));
        let whole = "x".repeat(BYTES_MAX);
        assert_eq!(got(sized("200 OK", &whole)).await, Ok(whole.clone()));
        let over = sized("200 OK", &format!("{whole}x"));
        assert_eq!(got(over).await, Err(Unfetched::TooLarge));
        let claimed = "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
        assert_eq!(got(claimed.to_owned()).await, Err(Unfetched::TooLarge));
        for status in ["301 Moved", "302 Found", "307 Again", "204 None", "500 Oh"] {
            let elsewhere =
                format!("HTTP/1.1 {status}\r\nlocation: /y\r\ncontent-length: 0\r\n\r\n");
            let refused = got(elsewhere).await.expect_err(status);
            assert!(matches!(refused, Unfetched::Status(_)), "{refused}");
        }
        for garbage in ["garbage\r\n\r\n", "HTTP/2 200\r\n\r\n", "\0\0\0\0\r\n\r\n"] {
            let refused = got(garbage.to_owned()).await.expect_err(garbage);
            assert_eq!(refused, Unfetched::Unreadable);
        }
        let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(2 << 20));
        assert_eq!(got(endless).await, Err(Unfetched::Unreadable));
    }

    #[tokio::test]
    async fn who_is_slow_is_not_waited_for() {
        let answer = Duration::from_millis(50);
        let hasty = FetchRules { answer, ..OPEN };
        for answer_so_far in ["", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal"] {
            let got = fetched(answer_so_far.to_owned(), hasty.clone()).await;
            assert_eq!(got, Err(Unfetched::Late(answer)));
        }
    }

    #[tokio::test]
    async fn what_only_this_machine_can_reach_is_not_asked() {
        // Nothing listens there, which is never found out.
        let fetcher = Fetcher::new(FetchRules {
            needs_https: false,
            ..FetchRules::default()
        });
        for host in [
            "127.0.0.1",
            "localhost",
            "LOCALHOST",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:a9fe:a9fe]",
            "169.254.169.254",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "10.0.0.1",
            "0.0.0.0",
            "[fd00:ec2::254]",
            "[fe80::1]",
        ] {
            for scheme in ["http", "https"] {
                let place = format!("{scheme}://{host}:1/");
                let place = ProviderUrl::parse(&place, fetcher.rules()).expect("a place");
                let (looked_at, asked) = (fetcher.check(&place).await, fetcher.get(&place).await);
                let blocked = looked_at.expect_err(host);
                let is_blocked = matches!(blocked, Unfetched::Blocked(_) | Unfetched::Local(_));
                assert!(is_blocked, "{blocked}");
                assert_eq!(asked, Err(blocked));
            }
        }
    }

    #[tokio::test]
    async fn only_so_many_are_asked_at_once() {
        let turn = Duration::from_millis(50);
        let fetcher = Fetcher::new(FetchRules { turn, ..OPEN });
        let _all = fetcher.0.turns.acquire_many(8).await.expect("all of them");
        let place = answering(sized("200 OK", "yes")).await;
        assert_eq!(fetcher.get(&place).await, Err(Unfetched::NoTurn(turn)));
    }

    #[tokio::test]
    async fn a_certificate_that_nobody_vouches_for_is_refused() {
        let fetcher = Fetcher::new(OPEN);
        let plain = answering("HTTP/1.1 200 OK\r\n\r\n".to_owned()).await;
        let place = plain.as_str().replace("http://", "https://");
        let place = ProviderUrl::parse(&place, fetcher.rules()).expect("a place");
        let refused = fetcher.get(&place).await.expect_err("no TLS there");
        let is_reported = matches!(refused, Unfetched::Unconnected(_) | Unfetched::NoRoots);
        assert!(is_reported, "{refused}");
    }
}
