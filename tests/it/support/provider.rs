//! A provider of tokens of the test's own: a small server with a discovery document and keys that
//! can be changed.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::Body,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use interlock::auth::SigningKey;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

/// A key of a provider: its name and itself.
pub(crate) type Key = (&'static str, &'static str);

pub(crate) const FIRST: Key = ("first", include_str!("../../keys/strange.pem"));
pub(crate) const SECOND: Key = ("second", include_str!("../../keys/rotated.pem"));

/// What it answers instead of its keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whim {
    None,
    Redirect,
    Huge,
    Silent,
    Garbage,
    Missing,
    /// It has a key of another algorithm, too.
    Mixed,
}

/// A running provider. Dropping it ends it.
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

struct State {
    issuer: String,
    keys: Mutex<Vec<Key>>,
    whim: Mutex<Whim>,
    /// How often it was asked for anything.
    asked: AtomicUsize,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            issuer: format!("http://{address}"),
            keys: Mutex::new(vec![FIRST]),
            whim: Mutex::new(Whim::None),
            asked: AtomicUsize::new(0),
        });
        let router = router(&state);
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("serves");
        });
        Self {
            address,
            state,
            task,
        }
    }

    pub(crate) fn well_known(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.state.issuer)
    }

    /// From now on it has these keys, and no others.
    pub(crate) fn rotate(&self, keys: &[Key]) {
        *self.state.keys.lock().expect("no panic") = keys.to_vec();
    }

    pub(crate) fn has(&self, whim: Whim) {
        *self.state.whim.lock().expect("no panic") = whim;
    }

    pub(crate) fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// Claims of one of its tokens, for a minute.
    pub(crate) fn claims(&self) -> Value {
        claims(&self.state.issuer)
    }

    /// The usual token.
    pub(crate) fn token(&self, key: Key) -> String {
        signed(&self.claims(), key)
    }

    /// The same of another type.
    pub(crate) fn token_of_type(&self, key: Key, kind: &str) -> String {
        signed_as(kind, &self.claims(), key)
    }

    /// The same with another value of a claim.
    pub(crate) fn token_with(&self, key: Key, claim: &str, value: Value) -> String {
        let mut claims = self.claims();
        claims[claim] = value;
        signed(&claims, key)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn claims(issuer: &str) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("later").as_secs();
    json!({"iss": issuer, "sub": "ann", "aud": "app", "roles": ["ROLE_READER"], "iat": now,
        "exp": now + 60})
}

/// A provider that speaks TLS, as `localhost`. Dropping it ends it.
pub(crate) struct SecureProvider {
    issuer: String,
    /// The file of who vouches for it, and that of someone else who does not.
    pub(crate) authority: PathBuf,
    pub(crate) strange_authority: PathBuf,
    task: tokio::task::JoinHandle<()>,
}

impl SecureProvider {
    pub(crate) async fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let issuer = format!("https://localhost:{port}");
        let own = || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
        let (certificate, strange) = (own().expect("one"), own().expect("another"));
        let written = |name: &str, certificate: &rcgen::Certificate| {
            let path = folder.join(name);
            std::fs::write(&path, certificate.pem()).expect("writable");
            path
        };
        let (authority, strange_authority) = (
            written("authority.pem", &certificate.cert),
            written("strange.pem", &strange.cert),
        );
        let key = PrivateKeyDer::Pkcs8(certificate.signing_key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.cert.der().clone()], key)
            .expect("a certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (discovery, keys) = (
            discovery(&issuer).to_string(),
            key_set(&[FIRST]).to_string(),
        );
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that does not trust the certificate goes away.
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    continue;
                };
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => request.push(byte),
                        Err(_) => break,
                    }
                }
                let is_for_keys = request.starts_with(b"GET /keys ");
                let body = if is_for_keys { &keys } else { &discovery };
                let length = body.len();
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        Self {
            issuer,
            authority,
            strange_authority,
            task,
        }
    }

    pub(crate) fn well_known(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.issuer)
    }

    pub(crate) fn token(&self, key: Key) -> String {
        signed(&claims(&self.issuer), key)
    }
}

impl Drop for SecureProvider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn signed(claims: &Value, key: Key) -> String {
    signed_as("JWT", claims, key)
}

fn signed_as(kind: &str, claims: &Value, (name, pem): Key) -> String {
    let header = Header {
        kid: Some(name.to_owned()),
        typ: Some(kind.to_owned()),
        ..Header::new(Algorithm::RS256)
    };
    let key = EncodingKey::from_rsa_pem(pem.as_bytes()).expect("a key");
    encode(&header, claims, &key).expect("signed")
}

fn router(state: &Arc<State>) -> Router {
    let (discovering, publishing) = (Arc::clone(state), Arc::clone(state));
    let discovery = get(async move || {
        discovering.asked.fetch_add(1, Ordering::SeqCst);
        json(&discovery(&discovering.issuer))
    });
    let keys = get(async move || {
        publishing.asked.fetch_add(1, Ordering::SeqCst);
        let whim = *publishing.whim.lock().expect("no panic");
        let keys = publishing.keys.lock().expect("no panic").clone();
        match whim {
            Whim::None => json(&key_set(&keys)),
            Whim::Mixed => {
                let mut set = key_set(&keys);
                let other = json!({"kty": "EC", "crv": "P-256", "kid": "ec", "alg": "ES256",
                    "x": "AA", "y": "AA"});
                set["keys"].as_array_mut().expect("a list").push(other);
                json(&set)
            }
            Whim::Redirect => {
                (StatusCode::FOUND, [(header::LOCATION, "/elsewhere")]).into_response()
            }
            Whim::Huge => " ".repeat(2 << 20).into_response(),
            Whim::Silent => std::future::pending().await,
            Whim::Garbage => "{".into_response(),
            Whim::Missing => StatusCode::NOT_FOUND.into_response(),
        }
    });
    let elsewhere = Arc::clone(state);
    Router::new()
        .route("/.well-known/openid-configuration", discovery)
        .route("/keys", keys)
        .route(
            "/elsewhere",
            get(async move || json(&key_set(&elsewhere.keys.lock().expect("no panic")))),
        )
}

fn discovery(issuer: &str) -> Value {
    json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys"),
        "id_token_signing_alg_values_supported": ["RS256"]})
}

fn key_set(keys: &[Key]) -> Value {
    let keys = keys.iter().map(|(name, pem)| {
        let key = SigningKey::parse(pem).expect("a key");
        let mut jwk: Value = serde_json::from_str(&key.public().jwk()).expect("JSON");
        jwk["kid"] = json!(name);
        jwk
    });
    json!({"keys": keys.collect::<Vec<_>>()})
}

fn json(value: &Value) -> Response {
    let body = Body::from(value.to_string());
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
