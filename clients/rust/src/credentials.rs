//! Tokens with which a caller authenticates.

mod http;

use std::{
    fmt,
    time::{Duration, Instant},
};

use ::http::StatusCode;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::{Code, Error, Result};

/// Supplies bearer tokens. A text is one that never changes.
pub trait TokenSource: Send + Sync + 'static {
    /// Returns a token that is valid for some time yet.
    fn token(&self) -> BoxFuture<'_, Result<String>>;

    /// Drops a token, because the server refused it. Returns whether there will be another one.
    fn forget<'a>(&'a self, token: &'a str) -> BoxFuture<'a, bool> {
        let _ = token;
        Box::pin(async { false })
    }
}

impl TokenSource for String {
    fn token(&self) -> BoxFuture<'_, Result<String>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

/// Obtains tokens with the id and the secret of a client: the OAuth 2.0 client credentials grant.
///
/// It keeps a token until shortly before it expires, and gets another one at once if the server
/// refuses the one it has.
///
/// An endpoint that cannot be reached, is interrupted, or answers with what is neither a token nor a
/// refusal is a lost connection: members try again, requests until their connect timeout. A refusal
/// is [`Code::Unauthorized`]. An address without an endpoint is [`Code::InvalidOptions`]: one that
/// answers 404, or as a server does that asks for a token (401 with the code `UNAUTHORIZED`).
///
/// ```
/// use interlock_client::{ClientCredentials, ConnectOptions};
///
/// let options = ConnectOptions::new("localhost:9090").token_source(
///     ClientCredentials::new("http://localhost:8080/api/oauth/token", "billing", "secret"),
/// );
/// ```
pub struct ClientCredentials {
    url: String,
    client_id: String,
    client_secret: String,
    tls: http::Tls,
    held: Mutex<Option<Held>>,
}

struct Held {
    token: String,
    expires: Instant,
}

impl ClientCredentials {
    /// The token endpoint, such as `http://localhost:8080/api/oauth/token`, and the client.
    pub fn new(
        url: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
    ) -> Self {
        Self {
            url: url.into(),
            client_id: client_id.into(),
            client_secret: client_secret.into(),
            tls: http::Tls::default(),
            held: Mutex::new(None),
        }
    }

    /// Trusts this authority, a certificate in PEM, besides those that the system trusts.
    #[must_use]
    pub fn certificate_authority(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.authority = Some(pem.into());
        self
    }

    /// Authenticates the connection with a certificate and its key, both in PEM, if the server asks
    /// for one.
    #[must_use]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.tls.identity = Some((certificate.into(), key.into()));
        self
    }

    async fn obtain(&self) -> Result<Held> {
        let (status, body) = http::post_form(
            &self.url,
            "grant_type=client_credentials",
            (&self.client_id, &self.client_secret),
            &self.tls,
        )
        .await?;
        if status != StatusCode::OK {
            return Err(self.refusal(status, &body));
        }
        let granted: Granted = serde_json::from_slice(&body).map_err(|_| {
            // Proxies answer so for an endpoint that is being started.
            Error::lost(format!(
                "{} answers with no token; is it the token endpoint?",
                self.url
            ))
        })?;
        // A tenth of its life is left for the way to the server, and for differences of clocks.
        let lifetime = granted.expires_in.map_or(TOKEN_LIFE, Lifetime::duration);
        Ok(Held {
            token: granted.access_token,
            expires: Instant::now() + lifetime.mul_f64(0.9),
        })
    }

    /// What an answer without a token means. Only what the endpoint itself says is final: anything
    /// else may come from a proxy, and pass.
    fn refusal(&self, status: StatusCode, body: &[u8]) -> Error {
        let url = &self.url;
        match status {
            StatusCode::NOT_FOUND => Error::new(
                Code::InvalidOptions,
                format!("{url} answers {status}: there is no token endpoint; check the URL"),
            ),
            StatusCode::UNAUTHORIZED if Problem::is_by_a_server(body) => Error::new(
                Code::InvalidOptions,
                format!("{url} answers {status}: there is no token endpoint; check the URL"),
            ),
            StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                match serde_json::from_slice::<Refused>(body) {
                    Ok(refused) => {
                        let why = [refused.error, refused.error_description].join(" ");
                        let why = why.trim();
                        let message = format!("{url} refuses the client: {why}");
                        Error::new(Code::Unauthorized, message)
                    }
                    Err(_) => self.unanswered(status),
                }
            }
            _ => self.unanswered(status),
        }
    }

    fn unanswered(&self, status: StatusCode) -> Error {
        let url = &self.url;
        Error::lost(format!("cannot obtain a token: {url} answers {status}"))
    }
}

/// What OAuth 2.0 answers instead of a token.
#[derive(Deserialize)]
struct Refused {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// What a server answers to a caller that is not authenticated, whatever the path is, unless it is that of
/// its token endpoint.
#[derive(Deserialize)]
struct Problem {
    properties: ProblemProperties,
}

#[derive(Deserialize)]
struct ProblemProperties {
    #[serde(rename = "errorCode")]
    code: String,
}

impl Problem {
    fn is_by_a_server(body: &[u8]) -> bool {
        serde_json::from_slice::<Self>(body)
            .is_ok_and(|problem| problem.properties.code == Code::Unauthorized.as_str())
    }
}

/// How long a token is used whose endpoint does not say how long it may be.
const TOKEN_LIFE: Duration = Duration::from_secs(300);

/// How long one is used at most before another one is obtained.
const TOKEN_LIFE_MAX: f64 = 86_400.0;

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: Option<Lifetime>,
}

/// The lifetime of a token in seconds: a number, which some endpoints write as a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lifetime {
    Number(f64),
    Text(String),
    Other(serde::de::IgnoredAny),
}

impl Lifetime {
    fn duration(self) -> Duration {
        let seconds = match self {
            Self::Number(seconds) => Some(seconds),
            Self::Text(text) => text.parse().ok(),
            Self::Other(_) => None,
        };
        let seconds = seconds.filter(|seconds| *seconds >= 0.0);
        seconds.map_or(TOKEN_LIFE, |seconds| {
            Duration::from_secs_f64(seconds.min(TOKEN_LIFE_MAX))
        })
    }
}

impl TokenSource for ClientCredentials {
    fn token(&self) -> BoxFuture<'_, Result<String>> {
        Box::pin(async {
            let mut held = self.held.lock().await;
            if let Some(held) = held.as_ref().filter(|held| Instant::now() < held.expires) {
                return Ok(held.token.clone());
            }
            let obtained = self.obtain().await?;
            Ok(held.insert(obtained).token.clone())
        })
    }

    fn forget<'a>(&'a self, token: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            self.held.lock().await.take_if(|held| held.token == token);
            true
        })
    }
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials")
            .field("url", &self.url)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
