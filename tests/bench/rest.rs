//! Requests over HTTP/1.1: to the gateway, and to the echo of its floor.

use axum::{Router, body::Bytes, extract::Query, routing::post};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde::Deserialize;
use tokio::net::TcpListener;

use crate::{
    load::{self, Measured, Span},
    message::{Model, document},
    process::Process,
};

/// A client of HTTP, which opens as many connections as it has requests in flight.
pub(crate) type Http = Client<HttpConnector, Full<Bytes>>;

pub(crate) fn client() -> Http {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

/// Where entities of a model are created.
pub(crate) fn creations(service: &Process, model: Model) -> String {
    format!(
        "http://{}/api/entity/JSON/{}/1",
        service.http(),
        model.name()
    )
}

/// Where the echo answers with so many bytes.
pub(crate) fn echo_of(echo: &Process, answer: usize) -> String {
    format!("http://{}/?answer={answer}", echo.http())
}

/// Sends a document of the load; how large the answer is.
pub(crate) async fn send(client: &Http, uri: &str, id: &str) -> usize {
    let request = http::Request::post(uri)
        .header("content-type", "application/json")
        .body(Full::from(document(id)))
        .expect("a request");
    let answer = client.request(request).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.expect("a whole body");
    body.to_bytes().len()
}

/// So many clients, each with one document after the other.
pub(crate) async fn load(uri: &str, in_flight: usize, span: Span) -> Measured {
    let http = client();
    load::callers(in_flight, span, |_| {
        let (http, uri) = (http.clone(), uri.to_owned());
        move |id: String| {
            let (http, uri) = (http.clone(), uri.clone());
            async move {
                send(&http, &uri, &id).await;
            }
        }
    })
    .await
}

#[derive(Deserialize)]
struct Wanted {
    answer: usize,
}

/// Reads what it is sent, and answers with as much as is asked for.
pub(crate) async fn serve_echo(listener: TcpListener) {
    async fn echo(Query(wanted): Query<Wanted>, _document: Bytes) -> String {
        "x".repeat(wanted.answer)
    }
    let router = Router::new().route("/", post(echo));
    axum::serve(
        axum::serve::ListenerExt::tap_io(listener, |tcp| {
            tcp.set_nodelay(true).expect("a socket");
        }),
        router,
    )
    .await
    .expect("serves");
}
