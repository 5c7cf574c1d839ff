//! Pages of other origins (`config-and-cli.md` §10).

use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use interlock::event::frame::Frame;
use serde_json::json;
use tokio::net::TcpStream;

use crate::support::{Rest, Said, Server, request};

const ALLOW_ORIGIN: &str = "access-control-allow-origin";

fn from(server: &Server, origin: &str) -> Rest {
    server.rest().with("origin", origin)
}

async fn preflight(server: &Server, origin: &str) -> Said {
    from(server, origin)
        .with("access-control-request-method", "PATCH")
        .with("access-control-request-headers", "if-match")
        .send("OPTIONS", "/api/entity/JSON/x", "")
        .await
}

fn allowed(said: &Said) -> Option<&str> {
    let origin = said.headers.get(ALLOW_ORIGIN)?;
    Some(origin.to_str().expect("text"))
}

#[tokio::test]
async fn pages_of_this_machine_are_allowed_by_default() {
    let server = Server::start();
    let said = preflight(&server, "http://localhost:3000").await;
    assert_eq!((said.status.as_u16(), said.text.as_str()), (204, ""));
    for (name, value) in [
        (ALLOW_ORIGIN, "http://localhost:3000"),
        (
            "access-control-allow-methods",
            "GET, POST, PUT, PATCH, DELETE, OPTIONS",
        ),
        (
            "access-control-allow-headers",
            "Authorization, Content-Type, traceparent, tracestate",
        ),
        ("access-control-max-age", "86400"),
        ("vary", "origin"),
    ] {
        assert_eq!(said.headers[name], value, "{name}");
    }
    assert!(
        !said
            .headers
            .contains_key("access-control-allow-credentials")
    );
    let other = preflight(&server, "https://evil.example").await;
    assert_eq!((other.status.as_u16(), allowed(&other)), (204, None));
    assert_eq!(other.headers["vary"], "origin");
    for (path, status) in [
        ("/api/model/", 200),
        ("/api/nowhere", 404),
        ("/nowhere", 404),
    ] {
        let said = from(&server, "http://127.0.0.1").get(path).await;
        assert_eq!(said.status, status);
        assert_eq!(allowed(&said), Some("http://127.0.0.1"), "{path}");
        assert_eq!(said.headers["vary"], "origin", "{path}");
        let said = server.rest().get(path).await;
        assert_eq!(
            (allowed(&said), said.headers["vary"].to_str().expect("text")),
            (None, "origin")
        );
    }
    // What only looks like a question.
    let said = server.rest().send("OPTIONS", "/api/model/", "").await;
    assert_eq!((said.status.as_u16(), said.text.as_str()), (405, ""));
    assert_eq!(said.headers["vary"], "origin");
}

#[tokio::test]
async fn everyone_or_a_list_may_be_allowed() {
    let everyone = Server::with(&[("CYODA_CORS_ALLOWED_ORIGINS", "*")]);
    assert_eq!(
        allowed(&preflight(&everyone, "https://any.example").await),
        Some("*")
    );
    let said = from(&everyone, "https://any.example")
        .get("/api/model/")
        .await;
    assert_eq!(allowed(&said), Some("*"));
    let listed = Server::with(&[(
        "CYODA_CORS_ALLOWED_ORIGINS",
        "https://a.example, https://b.example:8443",
    )]);
    for (origin, is_allowed) in [
        ("https://a.example", true),
        ("https://b.example:8443", true),
        ("https://b.example", false),
        ("http://a.example", false),
        ("http://localhost", false),
    ] {
        let said = preflight(&listed, origin).await;
        assert_eq!(allowed(&said), is_allowed.then_some(origin));
    }
}

#[tokio::test]
async fn nobody_may_be_allowed() {
    let server = Server::with(&[("CYODA_CORS_ENABLED", "false")]);
    assert_eq!(preflight(&server, "http://localhost").await.status, 405);
    let said = from(&server, "http://localhost").get("/api/model/").await;
    assert!(allowed(&said).is_none() && !said.headers.contains_key("vary"));
}

#[tokio::test]
async fn where_authentication_is_mocked_pages_of_others_and_other_hosts_are_refused() {
    let server = Server::start();
    let model = "/api/model/import/JSON/SAMPLE_DATA/m/1";
    let said = from(&server, "https://evil.example")
        .post(model, r#"{"n":1}"#)
        .await;
    let problem = said.refused(403, "FORBIDDEN");
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("CYODA_CORS_ALLOWED_ORIGINS"), "{detail}");
    // A name that was made to lead to this machine.
    let host = "rebind.evil.example:8080";
    let page = server.rest().with("host", host);
    let page = page.with("origin", &format!("http://{host}"));
    page.post(model, r#"{"n":1}"#)
        .await
        .refused(403, "FORBIDDEN");
    assert_eq!(server.rest().get("/api/model/").await.json(), json!([]));
    for host in ["localhost", "127.0.0.1:8080", "[::1]:8080", "a.localhost"] {
        let said = server.rest().with("host", host).get("/api/model/").await;
        assert_eq!(said.status, 200, "{host}");
    }
    let listed = Server::with(&[("CYODA_CORS_ALLOWED_ORIGINS", "http://dev.example:8080")]);
    let said = listed.rest().with("host", "dev.example:8080");
    assert_eq!(said.get("/api/model/").await.status, 200);
}

#[tokio::test]
async fn where_authentication_is_mocked_a_link_or_an_image_of_another_page_starts_nothing() {
    let route = r#"connector "api" { type = "rest" }
        saga "buy" {
          from {
            connector = "api"
            operation = "GET /buy"
          }
          step "wait" { await = "go" }
        }"#;
    let apply = json!({"bundle": "shop", "files": [{"path": "a.hcl", "text": route}]});
    let server = Server::start();
    let connection = server.connect().await;
    connection.ok("BundleApplyRequest", apply.clone()).await;
    let refused = [
        ("cross-site", None),
        // As it is after a redirect by another site.
        ("cross-site", Some("http://localhost:3000/")),
        ("same-site", None),
        ("same-site", Some("http://evil.example/http://localhost/")),
    ];
    for (site, referer) in refused {
        for (mode, to) in [("no-cors", "image"), ("navigate", "document")] {
            let page = server.rest().with("sec-fetch-site", site);
            let page = page.with("sec-fetch-mode", mode).with("sec-fetch-dest", to);
            let page = referer
                .into_iter()
                .fold(page, |page, from| page.with("referer", from));
            page.get("/buy").await.refused(403, "FORBIDDEN");
            page.get("/api/model/").await.refused(403, "FORBIDDEN");
        }
    }
    let runs = connection.ok("RunsGetRequest", json!({})).await;
    assert_eq!(runs["items"], json!([]));
    // The page of the service itself, a typed address, a page of this machine, and programs.
    let own = server.rest().with("sec-fetch-site", "same-origin");
    let typed = server.rest().with("sec-fetch-site", "none");
    let near = server.rest().with("sec-fetch-site", "same-site");
    let near = near.with("referer", "http://localhost:3000/shop");
    for rest in [own, typed, near, server.rest()] {
        assert_eq!(rest.get("/buy").await.status, 202);
    }
    let runs = connection.ok("RunsGetRequest", json!({})).await;
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(4));
    // Links from elsewhere lead to pages that do nothing.
    let link = server.rest().with("sec-fetch-site", "cross-site");
    for path in ["/console", "/docs", "/api/help", "/api/health"] {
        assert_eq!(link.get(path).await.status, 200, "{path}");
    }
    let everyone = Server::with(&[("CYODA_CORS_ALLOWED_ORIGINS", "*")]);
    let connection = everyone.connect().await;
    connection.ok("BundleApplyRequest", apply).await;
    let link = everyone.rest().with("sec-fetch-site", "cross-site");
    assert_eq!(link.get("/buy").await.status, 202);
}

#[tokio::test]
async fn a_page_cannot_call_over_grpc() {
    let server = Server::start();
    let import = json!({"id": "1", "dataFormat": "JSON", "converter": "SAMPLE_DATA",
        "model": {"name": "m", "version": 1}, "payload": {"n": 1}});
    let Frame(message) = request("EntityModelImportRequest", "1", import).into();
    let length = u32::try_from(message.len()).expect("short");
    let message = [&[0][..], &length.to_be_bytes(), &message].concat();
    let socket = TcpStream::connect(server.grpc).await.expect("connects");
    let (mut client, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    // A browser asks before it sends another type than the first, and is not answered.
    for (sent_as, status, models) in [
        ("text/plain;charset=UTF-8", 415, 0),
        ("application/grpc", 200, 1),
    ] {
        let call = http::Request::post(format!(
            "http://{}/org.cyoda.cloud.api.grpc.CloudEventsService/entityModelManage",
            server.grpc
        ));
        let call = call
            .header("origin", "https://evil.example")
            .header("content-type", sent_as)
            .body(Full::<bytes::Bytes>::from(message.clone()))
            .expect("a request");
        let response = client.send_request(call).await.expect("answered");
        assert_eq!(response.status(), status, "{sent_as}");
        let listed = server.rest().get("/api/model/").await.ok();
        assert_eq!(listed.as_array().map(Vec::len), Some(models), "{sent_as}");
    }
}
