//! A REST client.

use std::{net::SocketAddr, time::Duration};

use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;

/// How long more of an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Talks to the gateway.
#[derive(Clone)]
pub(crate) struct Rest {
    client: Client<HttpConnector, Full<bytes::Bytes>>,
    base: String,
    headers: Vec<(String, String)>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body, which must be that of a success.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.json()
    }

    /// The code of a problem document, whose status must be the response's.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(
            self.headers["content-type"], "application/problem+json",
            "{self:?}"
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16(), "{problem}");
        let code = problem["properties"]["errorCode"]
            .as_str()
            .expect("a code")
            .to_owned();
        assert!(
            problem["detail"]
                .as_str()
                .expect("a detail")
                .starts_with(&code),
            "{problem}"
        );
        code
    }
}

impl Said {
    /// The problem, which must be this one.
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        let given = (self.status.as_u16(), self.problem());
        assert_eq!(given, (status, code.to_owned()), "{}", self.text);
        self.json()
    }

    /// The same, of one that may be gone when the request is made again.
    pub(crate) fn refused_for_now(&self, status: u16, code: &str) {
        let problem = self.refused(status, code);
        assert_eq!(problem["properties"]["retryable"], true, "{problem}");
    }
}

/// An answer that is still coming.
pub(crate) struct Coming {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    body: hyper::body::Incoming,
    text: String,
}

/// A server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) id: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) data: String,
}

impl Coming {
    /// Everything up to a text, and that; none if the answer ends before.
    pub(crate) async fn until(&mut self, text: &str) -> Option<String> {
        loop {
            if let Some(at) = self.text.find(text) {
                let rest = self.text.split_off(at + text.len());
                return Some(std::mem::replace(&mut self.text, rest));
            }
            self.more().await?;
        }
    }

    /// Takes in a part more; none at the end.
    async fn more(&mut self) -> Option<()> {
        let frame = tokio::time::timeout(PATIENCE, self.body.frame())
            .await
            .expect("more in time")?
            .ok()?;
        let bytes = frame.into_data().expect("data");
        self.text
            .push_str(std::str::from_utf8(&bytes).expect("text"));
        Some(())
    }

    /// Everything up to the end.
    pub(crate) async fn rest(&mut self) -> String {
        while self.more().await.is_some() {}
        std::mem::take(&mut self.text)
    }

    /// The first item of a list.
    pub(crate) async fn first(&mut self) -> Value {
        loop {
            let begun = self.text.trim_start_matches('[');
            let mut items = serde_json::Deserializer::from_str(begun).into_iter();
            if let Some(Ok(item)) = items.next() {
                return item;
            }
            self.more().await.expect("an item");
        }
    }

    /// The next server-sent event that is no comment.
    pub(crate) async fn sent(&mut self) -> Option<Sent> {
        loop {
            let block = self.until("\n\n").await?;
            let mut sent = Sent::default();
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => sent.id = Some(id.to_owned()),
                    Some(("event", kind)) => sent.kind = Some(kind.to_owned()),
                    Some(("data", data)) => sent.data.push_str(data),
                    Some(_) | None => {}
                }
            }
            if sent != Sent::default() {
                return Some(sent);
            }
        }
    }
}

impl Rest {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            base: format!("http://{address}"),
            headers: Vec::new(),
        }
    }

    /// The same client with a header in every request.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.headers.push((name.to_owned(), value.to_owned()));
        other
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: impl Into<bytes::Bytes>,
    ) -> Said {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body.into())).expect("a request");
        let response = self.client.request(request).await.expect("an answer");
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        Said {
            status: head.status,
            headers: head.headers,
            text: String::from_utf8(body.to_vec()).expect("text"),
        }
    }

    /// Sends a request whose answer may never end.
    pub(crate) async fn open(&self, method: &str, path: &str, body: &str) -> Coming {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request
            .body(Full::new(body.to_owned().into()))
            .expect("a request");
        let (head, body) = self
            .client
            .request(request)
            .await
            .expect("an answer")
            .into_parts();
        Coming {
            status: head.status,
            headers: head.headers,
            body,
            text: String::new(),
        }
    }

    /// What is answered, if the server answers.
    pub(crate) async fn try_get(&self, path: &str) -> Option<StatusCode> {
        let uri = format!("{}{path}", self.base);
        let request = Request::get(uri).body(Full::default()).expect("a request");
        let response = self.client.request(request).await.ok()?;
        Some(response.status())
    }

    pub(crate) async fn get(&self, path: &str) -> Said {
        self.send("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<bytes::Bytes>) -> Said {
        self.send("POST", path, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: impl Into<bytes::Bytes>) -> Said {
        self.send("PUT", path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Said {
        self.send("DELETE", path, "").await
    }

    /// A model of that name and version 1, of a sample, ready for entities.
    pub(crate) async fn lock_model(&self, name: &str, sample: &str) {
        let import = format!("/api/model/import/JSON/SAMPLE_DATA/{name}/1");
        self.post(&import, sample.to_owned()).await.ok();
        let lock = format!("/api/model/{name}/1/lock");
        self.put(&lock, "").await.ok();
    }

    /// The id of a new entity of such a model.
    pub(crate) async fn create(&self, name: &str, body: &str) -> String {
        let path = format!("/api/entity/JSON/{name}/1");
        let made = self.post(&path, body.to_owned()).await.ok();
        made[0]["entityIds"][0].as_str().expect("an id").to_owned()
    }
}
