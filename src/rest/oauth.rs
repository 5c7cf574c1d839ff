//! Tokens for clients, and the keys that check them (`rest.md` §7). They speak OAuth 2.0
//! (RFC 6749), not the words of this service, so they spell no event.

use std::sync::Arc;

use axum::{
    extract::{ConnectInfo, DefaultBodyLimit, Form, FromRequest as _, Request},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get, post},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Gateway, json};
use crate::auth::{Minted, Peer, Refusal};
use crate::error::{Code, Failure};
use crate::event::payload::{self, RawJson};

/// The largest request for a token, in bytes.
const BODY_MAX: usize = 16 << 10;

const CLIENT_CREDENTIALS: &str = "client_credentials";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// What is taken in exchange, and what is given (RFC 8693 §3).
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// What is asked for. Whatever else is said, a scope above all, has no effect.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "TokenRequest")]
pub(super) struct Asked {
    /// `client_credentials`, or `urn:ietf:params:oauth:grant-type:token-exchange`.
    #[serde(default)]
    #[schemars(with = "String", !default)]
    grant_type: Option<String>,
    /// Only where the client does not name itself with HTTP Basic (RFC 6749 §2.3.1).
    #[serde(default)]
    #[schemars(with = "String")]
    client_id: Option<String>,
    #[serde(default)]
    #[schemars(with = "String", extend("format" = "password"))]
    client_secret: Option<String>,
    /// To be exchanged (RFC 8693 §2.1): a JWT that a trusted key has signed.
    #[serde(default)]
    #[schemars(with = "String")]
    subject_token: Option<String>,
    /// `urn:ietf:params:oauth:token-type:jwt`.
    #[serde(default)]
    #[schemars(with = "String")]
    subject_token_type: Option<String>,
}

/// A token, and whether it was given in exchange.
struct Granted {
    minted: Minted,
    is_exchanged: bool,
}

/// Why there is no token: a word of RFC 6749 §5.2, and more of it.
struct Refused(StatusCode, &'static str, &'static str);

pub(super) fn token(gateway: &Arc<Gateway>) -> MethodRouter {
    let gateway = Arc::clone(gateway);
    post(async move |request: Request| {
        let uri = request.uri().clone();
        let headers = request.headers().clone();
        let peer = request.extensions().get::<ConnectInfo<Peer>>();
        let peer = peer.map_or(Peer::UNKNOWN, |ConnectInfo(peer)| *peer);
        let granted = match Form::<Asked>::from_request(request, &()).await {
            Ok(Form(asked)) => grant(&gateway, &headers, peer, &asked).await,
            Err(rejected) if rejected.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Ok(Err(Refused(
                    StatusCode::BAD_REQUEST,
                    "invalid_request",
                    "a token request may have at most 16384 bytes",
                )))
            }
            Err(_) => Ok(Err(Refused(
                StatusCode::BAD_REQUEST,
                "invalid_request",
                "send grant_type as application/x-www-form-urlencoded",
            ))),
        };
        match granted {
            Ok(Ok(granted)) => no_store(json(payload::json(&TokenAnswer::from(granted)))),
            Ok(Err(refused)) => no_store(refused.response()),
            Err(failure) => gateway.problem(&failure, &uri),
        }
    })
    .layer(DefaultBodyLimit::max(BODY_MAX))
}

pub(super) fn keys(gateway: &Arc<Gateway>) -> MethodRouter {
    let gateway = Arc::clone(gateway);
    get(async move |request: Request| {
        if let Err(failure) = gateway.refresh().await {
            return gateway.problem(&failure, request.uri());
        }
        if let Some(keys) = gateway.authenticator.keys() {
            let keys = keys.into_iter().map(RawJson::trusted).collect();
            return json(payload::json(&Keys { keys }));
        }
        let failure = Failure::new(Code::NotFound, "keys require CYODA_IAM_MODE=jwt");
        gateway.problem(&failure, request.uri())
    })
}

async fn grant(
    gateway: &Gateway,
    headers: &HeaderMap,
    peer: Peer,
    asked: &Asked,
) -> Result<Result<Granted, Refused>, Failure> {
    let wanted = match wanted(asked) {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(Err(refused)),
    };
    gateway.refresh().await?;
    let authenticator = &gateway.authenticator;
    let credentials = credentials(headers, asked);
    let mut refused = Refusal::Unknown;
    // One pair in the two ways in which clients write it (`rest.md` §7).
    for (client, secret) in &credentials {
        let granted = match wanted {
            Wanted::Own => authenticator.mint(client, secret, peer).await?,
            Wanted::Exchanged(Ok(subject)) => {
                authenticator
                    .exchange(client, secret, subject, peer)
                    .await?
            }
            // The client is checked first (RFC 6749 §5.2), and what it brings is not a token.
            Wanted::Exchanged(Err(why)) => {
                match authenticator.exchange(client, secret, "", peer).await? {
                    Ok(_) | Err(Refusal::Untrusted) => return Ok(Err(Refused::grant(why))),
                    refused => refused,
                }
            }
        };
        match granted {
            Ok(minted) => {
                return Ok(Ok(Granted {
                    minted,
                    is_exchanged: matches!(wanted, Wanted::Exchanged(_)),
                }));
            }
            Err(why) => refused = why,
        }
        // The secret was right.
        if matches!(refused, Refusal::Untrusted | Refusal::OtherTenant) {
            break;
        }
    }
    let clients = credentials.iter().map(|(client, _)| &**client);
    authenticator.report_refusal(clients, peer, refused);
    Ok(Err(refused.into()))
}

/// What a client wants.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// A token of its own.
    Own,
    /// One in exchange for this token, or why what it brings cannot be exchanged.
    Exchanged(Result<&'a str, &'static str>),
}

fn wanted(asked: &Asked) -> Result<Wanted<'_>, Refused> {
    let bad = |word, why| Err(Refused(StatusCode::BAD_REQUEST, word, why));
    match asked.grant_type.as_deref() {
        Some(CLIENT_CREDENTIALS) => return Ok(Wanted::Own),
        Some(TOKEN_EXCHANGE) => {}
        Some(_) => {
            return bad(
                "unsupported_grant_type",
                "grant_type must be client_credentials or urn:ietf:params:oauth:grant-type:token-exchange",
            );
        }
        None => return bad("invalid_request", "grant_type is missing"),
    }
    if asked.subject_token_type.as_deref() != Some(JWT) {
        return Ok(Wanted::Exchanged(Err(
            "subject_token_type must be urn:ietf:params:oauth:token-type:jwt",
        )));
    }
    let subject = asked.subject_token.as_deref();
    let subject = subject.filter(|subject| !subject.is_empty());
    Ok(Wanted::Exchanged(subject.ok_or("subject_token is missing")))
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::TooMany => Self(
                StatusCode::TOO_MANY_REQUESTS,
                "temporarily_unavailable",
                "authentication of this client failed too often from this address; retry in a minute",
            ),
            Refusal::Busy => Self(
                StatusCode::SERVICE_UNAVAILABLE,
                "temporarily_unavailable",
                "too many token requests are waiting; retry in a second",
            ),
            Refusal::Unknown => Self(StatusCode::UNAUTHORIZED, "invalid_client", "invalid_client"),
            Refusal::Untrusted => Self::grant("the subject_token is not trusted"),
            Refusal::OtherTenant => Self(
                StatusCode::FORBIDDEN,
                "access_denied",
                "the subject_token belongs to another tenant than the client",
            ),
        }
    }
}

/// The name and the secret that a client gives: as they are, and then decoded.
fn credentials(headers: &HeaderMap, asked: &Asked) -> Vec<(String, String)> {
    let basic = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
        .and_then(|(_, encoded)| BASE64_STANDARD.decode(encoded.trim()).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(basic) = basic else {
        let given = asked.client_id.clone().zip(asked.client_secret.clone());
        return given.into_iter().collect();
    };
    let Some((client, secret)) = basic.split_once(':') else {
        return Vec::new();
    };
    let raw = (client.to_owned(), secret.to_owned());
    let decoded = (decoded(client), decoded(secret));
    if decoded == raw {
        vec![raw]
    } else {
        vec![raw, decoded]
    }
}

/// Text as a form writes it, decoded.
fn decoded(text: &str) -> String {
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    pairs
        .next()
        .map_or_else(String::new, |(name, _)| name.into_owned())
}

/// A token.
#[derive(Serialize, JsonSchema)]
pub(super) struct TokenAnswer {
    access_token: String,
    token_type: &'static str,
    /// In seconds.
    expires_in: u64,
    /// Of a token in exchange: `urn:ietf:params:oauth:token-type:access_token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    issued_token_type: Option<&'static str>,
}

impl From<Granted> for TokenAnswer {
    fn from(granted: Granted) -> Self {
        Self {
            expires_in: granted.minted.life.as_secs(),
            access_token: granted.minted.token,
            token_type: "Bearer",
            issued_token_type: granted.is_exchanged.then_some(ACCESS_TOKEN),
        }
    }
}

/// Why there is none (RFC 6749 §5.2).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Refused")]
pub(super) struct TokenRefusal {
    error: &'static str,
    error_description: &'static str,
}

/// Keys that check tokens (RFC 7517).
#[derive(Serialize, JsonSchema)]
pub(super) struct Keys {
    #[schemars(with = "Vec<Map<String, Value>>")]
    keys: Vec<RawJson>,
}

impl Refused {
    const fn grant(why: &'static str) -> Self {
        Self(StatusCode::BAD_REQUEST, "invalid_grant", why)
    }

    fn response(self) -> Response {
        let Self(status, word, why) = self;
        let body = json(payload::json(&TokenRefusal {
            error: word,
            error_description: why,
        }));
        let mut response = (status, body).into_response();
        let after = match status {
            StatusCode::TOO_MANY_REQUESTS => Some("60"),
            StatusCode::SERVICE_UNAVAILABLE => Some("1"),
            _ => None,
        };
        if let Some(seconds) = after {
            let seconds = header::HeaderValue::from_static(seconds);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

/// Tokens are in no cache (RFC 6749 §5.1).
fn no_store(mut response: Response) -> Response {
    let no = header::HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no);
    response
}
