//! What callers without a token may hold: calls of health and reflection, and heads of requests.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tonic::{Code, Streaming, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_client::HealthClient,
};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;

use crate::support::{Connection, PATIENCE, Server, wait::until};

async fn channel(server: &Server) -> Channel {
    let channel = Channel::from_shared(format!("http://{}", server.grpc)).expect("a URI");
    channel.connect().await.expect("connects")
}

/// Watches the health of the whole server, and receives the first status.
async fn watch(channel: Channel) -> Streaming<HealthCheckResponse> {
    let mut health = HealthClient::new(channel);
    let watching = health.watch(HealthCheckRequest::default()).await;
    let mut watched = watching.expect("answered").into_inner();
    let first = watched.message().await.expect("a status").expect("one");
    assert_eq!(first.status(), ServingStatus::Serving);
    watched
}

async fn ended(watched: &mut Streaming<HealthCheckResponse>) {
    // The first status may be told twice.
    let ends = async { while let Ok(Some(_)) = watched.message().await {} };
    timeout(PATIENCE, ends).await.expect("it ends in time");
}

#[tokio::test]
async fn who_only_watches_the_health_makes_room() {
    let server = Server::with(&[("INTERLOCK_CONNECTIONS_PER_ADDRESS", "3")]);
    let watching = (0..3).map(async |_| watch(channel(&server).await).await);
    let mut watched = join_all(watching).await;
    server.rest().get("/api/account").await.ok();
    server.connect().await;
    let ends = watched.iter_mut().map(|watched| Box::pin(ended(watched)));
    timeout(PATIENCE, futures_util::future::select_all(ends))
        .await
        .expect("one was closed");
}

#[tokio::test]
async fn a_connection_that_only_watches_the_health_ends_when_it_is_idle() {
    let server = Server::with(&[("INTERLOCK_IDLE_TIMEOUT", "1s")]);
    let (idle, busy) = (channel(&server).await, channel(&server).await);
    let connection = Connection::on(
        interlock::event::proto::service::cloud_events_service_client::CloudEventsServiceClient::new(
            busy.clone(),
        ),
        &[],
    )
    .await;
    let (mut idle, mut kept) = (watch(idle).await, watch(busy).await);
    ended(&mut idle).await;
    // The other has a stream, with which its watch stays.
    let next = futures_util::FutureExt::now_or_never(kept.message());
    assert!(next.is_none(), "{next:?}");
    connection
        .ok("AccountGetRequest", serde_json::json!({}))
        .await;
}

#[tokio::test]
async fn a_connection_has_only_a_few_calls_without_a_token() {
    let server = Server::start();
    let shared = channel(&server).await;
    let mut watched = join_all((0..8).map(|_| watch(shared.clone()))).await;
    let mut health = HealthClient::new(shared.clone());
    let refused = health.check(HealthCheckRequest::default()).await;
    let refused = refused.expect_err("too many");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert!(refused.message().contains("may have 8"), "{refused}");
    watched.pop();
    until("there is room", async || {
        let checked = health.check(HealthCheckRequest::default()).await;
        checked.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_stop_is_told_to_those_who_watch_and_does_not_wait_for_them() {
    let mut server = Server::start();
    let shared = channel(&server).await;
    let mut watched = watch(shared.clone()).await;
    let mut described = ServerReflectionClient::new(shared)
        .server_reflection_info(tokio_stream::pending())
        .await
        .expect("answered")
        .into_inner();
    let begun = Instant::now();
    assert_eq!(server.stop().await, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(8), "without waiting");
    let told = watched.message().await.expect("a status").expect("one");
    assert_eq!(told.status(), ServingStatus::NotServing);
    let end = watched.message().await.expect_err("an end");
    assert_eq!(end.code(), Code::Unavailable, "{end}");
    let end = timeout(PATIENCE, described.message()).await;
    let end = end.expect("in time");
    assert!(!matches!(end, Ok(Some(_))), "{end:?}");
}

#[tokio::test]
async fn a_head_beyond_the_limit_is_refused() {
    let server = Server::start();
    for (bytes, begins) in [(16 << 10, "HTTP/1.1 200"), (96 << 10, "HTTP/1.1 431")] {
        let mut stream = TcpStream::connect(server.http).await.expect("connects");
        let head = format!(
            "GET /api/account HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx: {}\r\n\r\n",
            "y".repeat(bytes)
        );
        // It may be refused before all is sent.
        let _ = stream.write_all(head.as_bytes()).await;
        let mut said = Vec::new();
        // What was not read of the head resets the connection after the answer.
        let read = timeout(PATIENCE, stream.read_to_end(&mut said)).await;
        let _ = read.expect("in time");
        let said = String::from_utf8_lossy(&said);
        assert!(said.starts_with(begins), "{bytes}: {said}");
    }
}
