//! A client of the gateway, and the token it bears.

use std::{
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use interlock::auth::SigningKey;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

/// The key of the service that is attacked.
pub(crate) const KEY: &str = include_str!("../../keys/signing.pem");

/// What a client of a tenant sends as `authorization`.
pub(crate) fn bearer(tenant: &str) -> String {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let key = SigningKey::parse(KEY).expect("a key");
        key.public().name.to_string()
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later");
    let claims = json!({"sub": "u1", "iss": "cyoda", "caas_user_id": "u1", "caas_org_id": tenant,
        "user_roles": ["ROLE_ADMIN", "ROLE_M2M"],
        "iat": now.as_secs(), "exp": now.as_secs() + 86_400});
    let header = Header {
        kid: Some(NAME.clone()),
        ..Header::new(Algorithm::RS256)
    };
    let key = EncodingKey::from_rsa_pem(KEY.as_bytes()).expect("a key");
    format!("Bearer {}", encode(&header, &claims, &key).expect("signed"))
}

/// A client.
#[derive(Clone)]
pub(crate) struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    headers: Vec<(&'static str, String)>,
}

/// What was answered; a request that was not has no status.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

impl Said {
    pub(crate) const fn is_ok(&self) -> bool {
        self.status == 200
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The first characters of the body, for people.
    pub(crate) fn start(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        format!(
            "{} {}",
            self.status,
            text.chars().take(160).collect::<String>()
        )
    }
}

impl Caller {
    /// A client that keeps its connections open.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self::with(address, None, usize::MAX)
    }

    /// One whose every request is on a connection of its own.
    pub(crate) fn without_connections(address: SocketAddr) -> Self {
        Self::with(address, None, 0)
    }

    /// One with another address than ours.
    pub(crate) fn from(address: SocketAddr, ours: IpAddr) -> Self {
        Self::with(address, Some(ours), usize::MAX)
    }

    fn with(address: SocketAddr, ours: Option<IpAddr>, idle_max: usize) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_local_address(ours);
        Self {
            client: Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(idle_max)
                .build(connector),
            address,
            headers: Vec::new(),
        }
    }

    pub(crate) fn of(mut self, tenant: &str) -> Self {
        self.headers.push(("authorization", bearer(tenant)));
        self
    }

    pub(crate) fn and(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Said {
        let mut request = http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(body.into())).expect("a request");
        let unanswered = Said {
            status: 0,
            body: Bytes::from_static(b"not answered"),
        };
        let Ok(response) = self.client.request(request).await else {
            return unanswered;
        };
        let status = response.status().as_u16();
        match response.into_body().collect().await {
            Ok(body) => Said {
                status,
                body: body.to_bytes(),
            },
            Err(_) => unanswered,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Said {
        self.send("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Bytes>) -> Said {
        self.send("POST", path, body).await
    }

    /// A request that prepares an attack, and must succeed.
    pub(crate) async fn prepare(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Said {
        let said = self.send(method, path, body).await;
        assert!(said.is_ok(), "{method} {path}: {}", said.start());
        said
    }

    /// A model of a sample, ready for entities.
    pub(crate) async fn model(&self, name: &str, sample: &str) {
        let import = format!("/api/model/import/JSON/SAMPLE_DATA/{name}/1");
        self.prepare("POST", &import, sample.to_owned()).await;
        self.prepare("PUT", &format!("/api/model/{name}/1/lock"), "")
            .await;
    }

    /// Imports the only workflow of a model.
    pub(crate) async fn workflow(&self, model: &str, workflow: &Value) -> Said {
        let body = json!({"importMode": "REPLACE", "workflows": [workflow]});
        let path = format!("/api/model/{model}/1/workflow/import");
        self.post(&path, body.to_string()).await
    }

    /// Makes an entity; its id.
    pub(crate) async fn create(&self, model: &str, document: &str) -> String {
        let path = format!("/api/entity/JSON/{model}/1");
        let made = self
            .prepare("POST", &path, document.to_owned())
            .await
            .json();
        made[0]["entityIds"][0].as_str().expect("an id").to_owned()
    }

    /// Makes that many entities of the documents that numbers stand for.
    pub(crate) async fn create_many(
        &self,
        model: &str,
        count: usize,
        document: impl Fn(usize) -> Value,
    ) -> Vec<String> {
        let mut made = Vec::with_capacity(count);
        while made.len() < count {
            let until = count.min(made.len() + 500);
            let items: Value = (made.len()..until)
                .map(|n| json!({"model": {"name": model, "version": 1}, "payload": document(n).to_string()}))
                .collect();
            let said = self
                .prepare("POST", "/api/entity/JSON", items.to_string())
                .await;
            for chunk in said.json().as_array().expect("chunks") {
                let ids = chunk["entityIds"].as_array().expect("ids");
                made.extend(
                    ids.iter()
                        .filter_map(|id| id.as_str().map(ToOwned::to_owned)),
                );
            }
        }
        made
    }
}
