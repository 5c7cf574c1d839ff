//! Connections that end: time limits, caps, budgets, and the admin port beside everything.

mod unread;

use std::{
    net::SocketAddr,
    sync::mpsc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::{body::Frame, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;

use crate::support::{
    Member, PATIENCE, Rest, Server, between_looks, create, get, locked_model, new_entity,
    payload_of, request,
};

/// Limits that a test can wait for.
const QUICK: &[(&str, &str)] = &[
    ("INTERLOCK_HEADER_TIMEOUT", "400ms"),
    ("INTERLOCK_BODY_TIMEOUT", "500ms"),
    ("INTERLOCK_IDLE_TIMEOUT", "1s"),
    ("INTERLOCK_WRITE_TIMEOUT", "1s"),
];

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// An empty frame of settings, and a ping.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

const UNARY: &str = "/org.cyoda.cloud.api.grpc.CloudEventsService/entityManage";
const STREAM: &str = "/org.cyoda.cloud.api.grpc.CloudEventsService/startStreaming";

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("a connection")
}

/// What the server sends until it ends the connection.
async fn until_ended(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    // A reset is an end, too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut all))
        .await
        .expect("the server ends the connection");
    all
}

/// Sends the beginning, then the piece again and again, until the server ends the connection.
async fn trickled(address: SocketAddr, beginning: &[u8], piece: &[u8]) -> Vec<u8> {
    let mut stream = connect(address).await;
    stream.write_all(beginning).await.expect("sent");
    let (mut reading, mut writing) = stream.split();
    let writes = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        loop {
            ticks.tick().await;
            if piece.is_empty() || writing.write_all(piece).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let mut all = Vec::new();
    let reads = timeout(PATIENCE, reading.read_to_end(&mut all));
    tokio::select! {
        ended = reads => { let _ = ended.expect("the server ends the connection"); }
        () = writes => {}
    }
    all
}

/// What is measured under a name and its labels.
async fn measured(server: &Server, name: &str) -> f64 {
    let text = Rest::new(server.admin).get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.expect(name).trim().parse().expect("a number")
}

/// Waits until so many connections or requests were ended for a reason.
async fn ended_for(server: &Server, reason: &str, times: f64) {
    let name = format!(r#"interlock_connections_ended_total{{reason="{reason}"}}"#);
    let wait = async {
        while measured(server, &name).await < times {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect(reason);
}

/// Whether a line of the log has all of these texts, before long.
async fn logged(server: &Server, texts: &[&str]) {
    let wait = async {
        loop {
            let log = server.log.lock().expect("no panic").clone();
            if log
                .iter()
                .any(|line| texts.iter().all(|text| line.contains(text)))
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("a line of the log");
}

#[tokio::test]
async fn idle_half_sent_and_trickling_connections_end_on_every_port() {
    let server = Server::with(QUICK);
    let answered = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let silent_http2 = [PREFACE, SETTINGS].concat();
    let cases: [(SocketAddr, &[u8], &[u8]); 11] = [
        (server.http, b"", b""),
        (server.http, b"GET / HT", b""),
        (
            server.http,
            b"GET /api/account HTTP/1.1\r\nhost: localhost\r\nx: ",
            b"y",
        ),
        (server.http, answered, b""),
        (server.admin, b"", b""),
        (server.admin, b"GET /readyz HTTP/1.1\r\n", b""),
        (server.admin, answered, b""),
        (server.grpc, b"", b""),
        (server.grpc, &PREFACE[..10], b""),
        (server.grpc, &silent_http2, b""),
        // A peer that shows that it lives, and asks for nothing.
        (server.grpc, &silent_http2, PING),
    ];
    let begun = Instant::now();
    let all = cases.iter().map(async |(address, beginning, piece)| {
        let said = trickled(*address, beginning, piece).await;
        assert!(begun.elapsed() > Duration::from_millis(300), "not at once");
        said
    });
    let said = join_all(all).await;
    assert!(said[3].starts_with(b"HTTP/1.1 404") && said[6].starts_with(b"HTTP/1.1 200"));
    // The limits, the rounds of looking, and a machine that does other things.
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn a_body_that_trickles_is_refused_with_the_limit() {
    let server = Server::with(QUICK);
    let head =
        b"POST /api/entity/JSON/m/1 HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n{";
    for piece in [&b""[..], b" "] {
        let said = trickled(server.http, head, piece).await;
        let said = String::from_utf8_lossy(&said);
        assert!(said.starts_with("HTTP/1.1 408"), "{said}");
        assert!(said.contains("INTERLOCK_BODY_TIMEOUT"), "{said}");
    }
    ended_for(&server, "slow_body", 2.0).await;
}

/// A call whose body comes from a channel.
async fn call(
    address: SocketAddr,
    path: &str,
    window: u32,
) -> (
    http2::SendRequest<StreamBody<ReceiverStream<Result<Frame<Bytes>, std::io::Error>>>>,
    tokio::sync::mpsc::Sender<Result<Frame<Bytes>, std::io::Error>>,
    tokio::task::JoinHandle<http::Response<hyper::body::Incoming>>,
) {
    let (mut client, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(window)
        .initial_connection_window_size(16 << 20)
        .handshake(TokioIo::new(connect(address).await))
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    let (pieces, body) = tokio::sync::mpsc::channel(16);
    let mut request = grpc(address, path, StreamBody::new(ReceiverStream::new(body)));
    if [UNARY, STREAM].contains(&path) {
        let gzip = http::HeaderValue::from_static("gzip");
        request.headers_mut().insert("grpc-encoding", gzip);
    }
    let answering = client.send_request(request);
    let answered = tokio::spawn(async move { answering.await.expect("answered") });
    (client, pieces, answered)
}

fn grpc<B>(address: SocketAddr, path: &str, body: B) -> Request<B> {
    Request::post(format!("http://{address}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .expect("a request")
}

/// The status of a call, in its headers or after its body.
async fn status(response: http::Response<hyper::body::Incoming>) -> (String, String) {
    let headers = response.headers().clone();
    let trailers = if headers.contains_key("grpc-status") {
        headers
    } else {
        let whole = timeout(PATIENCE, response.into_body().collect()).await;
        let whole = whole.expect("an end").expect("a body");
        whole.trailers().cloned().unwrap_or_default()
    };
    let text = |name: &str| {
        let value = trailers
            .get(name)
            .map(|value| value.to_str().expect("text"));
        value.unwrap_or_default().to_owned()
    };
    (text("grpc-status"), text("grpc-message"))
}

#[tokio::test]
async fn a_half_sent_grpc_message_ends_its_call() {
    let server = Server::with(QUICK);
    for path in [UNARY, STREAM] {
        let (_client, pieces, answered) = call(server.grpc, path, 1 << 20).await;
        let half = [&[0, 0, 0, 0, 100][..], b"half"].concat();
        pieces
            .send(Ok(Frame::data(half.into())))
            .await
            .expect("sent");
        let response = timeout(PATIENCE, answered)
            .await
            .expect("in time")
            .expect("no panic");
        let (code, message) = status(response).await;
        assert_eq!(code, "4", "{path}: {message}");
        assert!(message.contains("INTERLOCK_BODY_TIMEOUT"), "{message}");
    }
}

#[tokio::test]
async fn streams_and_subscriptions_stay_while_they_wait() {
    let server = Server::with(QUICK);
    let connection = server.connect().await;
    let model = locked_model(&connection, "kept", json!({"n": 1})).await;
    let member = Member::join(&server, &["kept"]).await;
    let rest = server.rest();
    let mut followed = rest
        .open("GET", "/api/entity/changes/stream?fromSequence=0", "")
        .await;
    for _ in 0..3 {
        until_ended(&mut connect(server.http).await).await;
    }
    let id = create(&connection, &model, json!({"n": 2})).await;
    assert_eq!(get(&connection, &id).await["data"]["n"], 2);
    followed.until(&id).await.expect("the subscription lives");
    drop(member);
}

#[tokio::test]
async fn an_answer_that_nobody_reads_ends_and_takes_no_other_with_it() {
    let server = Server::with(QUICK);
    let connection = server.connect().await;
    let model = locked_model(&connection, "large", json!({"t": "x"})).await;
    let id = create(&connection, &model, json!({"t": "x".repeat(2 << 20)})).await;
    // HTTP/2: the window of one call is full, while the connection is well.
    let (mut client, pieces, answered) = call(server.grpc, UNARY, 65_535).await;
    let frame = |event: interlock::event::Event| {
        let frame: interlock::event::frame::Frame = event.into();
        let message = frame.0;
        let length = u32::try_from(message.len()).expect("short");
        [&[0][..], &length.to_be_bytes(), &message].concat()
    };
    let asked = frame(request("EntityGetRequest", "r", json!({"entityId": id})));
    pieces
        .send(Ok(Frame::data(asked.into())))
        .await
        .expect("sent");
    drop(pieces);
    let unread = answered.await.expect("no panic");
    ended_for(&server, "unread_answer", 1.0).await;
    let (pieces, body) = tokio::sync::mpsc::channel(1);
    drop(pieces);
    let other = grpc(
        server.grpc,
        "/nowhere",
        StreamBody::new(ReceiverStream::new(body)),
    );
    let other = client
        .send_request(other)
        .await
        .expect("the connection lives");
    assert_eq!(status(other).await.0, "12");
    assert!(unread.into_body().collect().await.is_err(), "it was reset");
    // HTTP/1.1: the socket is full.
    let mut stream = connect(server.http).await;
    let get = format!("GET /api/entity/{id} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream
        .write_all(get.repeat(20).as_bytes())
        .await
        .expect("sent");
    ended_for(&server, "unread_answer", 2.0).await;
}

#[tokio::test]
async fn at_the_limit_of_files_idle_connections_make_room() {
    rlimit::increase_nofile_limit(4_096).expect("files");
    let settings = [("INTERLOCK_CONNECTIONS_PER_ADDRESS", "0")];
    let server = Server::under(&["prlimit", "--nofile=1024:1024"], &settings);
    let busy = server.connect().await;
    let model = locked_model(&busy, "room", json!({"n": 1})).await;
    let mut idle = Vec::new();
    for n in 0..1_100 {
        idle.push(connect(if n % 2 == 0 { server.http } else { server.grpc }).await);
    }
    let (rest, admin) = (server.rest(), Rest::new(server.admin));
    let begun = Instant::now();
    assert_eq!(rest.get("/api/entity/room/1").await.ok(), json!([]));
    assert_eq!(admin.get("/readyz").await.text, "ready");
    create(&busy, &model, json!({"n": 1})).await;
    create(&server.connect().await, &model, json!({"n": 2})).await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    let said = until_ended(&mut idle[0]).await;
    assert!(said.is_empty(), "the oldest was closed");
    logged(&server, &["WARN", "INTERLOCK_CONNECTIONS_MAX", "limit=832"]).await;
    ended_for(&server, "displaced", 260.0).await;
}

#[tokio::test]
async fn one_address_has_only_its_share_and_open_requests_are_not_cut() {
    let server = Server::with(&[
        ("INTERLOCK_CONNECTIONS_PER_ADDRESS", "3"),
        ("INTERLOCK_CONNECTIONS_MAX", "100"),
    ]);
    let mut busy = Vec::new();
    for _ in 0..3 {
        let connection = server.connect().await;
        connection.call("AccountGetRequest", json!({})).await;
        busy.push(connection);
    }
    let refused = until_ended(&mut connect(server.http).await).await;
    assert!(refused.is_empty());
    logged(
        &server,
        &["WARN", "INTERLOCK_CONNECTIONS_PER_ADDRESS", "limit=3"],
    )
    .await;
    ended_for(&server, "refused", 1.0).await;
    drop(busy.pop());
    let rest = server.rest();
    let wait = async {
        while rest.try_get("/api/account").await.is_none() {
            between_looks().await;
        }
    };
    timeout(PATIENCE, wait)
        .await
        .expect("a place that was left");
    for connection in &busy {
        connection.call("AccountGetRequest", json!({})).await;
    }
}

#[tokio::test]
async fn half_sent_requests_for_tokens_take_no_memory() {
    let server = Server::with(&crate::support::iam::settings(QUICK));
    let before = server.resident_bytes();
    let head = "POST /api/oauth/token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 1000000\r\n\r\ngrant_type=";
    let half = format!("{head}{}", "x".repeat(500_000));
    let senders = (0..300).map(async |_| {
        let mut stream = connect(server.http).await;
        // It may be refused before all is sent.
        let _ = stream.write_all(half.as_bytes()).await;
        stream
    });
    let streams = join_all(senders).await;
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "{grown} bytes");
    drop(streams);
    let rest = server
        .rest()
        .with("content-type", "application/x-www-form-urlencoded");
    let long = format!(
        "grant_type=client_credentials&scope={}",
        "x".repeat(16 << 10)
    );
    let said = rest.post("/api/oauth/token", long).await;
    assert_eq!(said.status, 400);
    assert!(said.text.contains("16384"), "{}", said.text);
}

#[tokio::test]
async fn more_bytes_than_the_budget_are_refused_and_small_requests_are_not() {
    let settings = [("INTERLOCK_RECEIVING_BYTES", "8000000")];
    let server = Server::with(&settings);
    let rest = server.rest();
    rest.lock_model("held", r#"{"t":"x"}"#).await;
    // Half of a document that uses up what one tenant may hold.
    let mut holder = connect(server.http).await;
    let head = "POST /api/entity/JSON/held/1 HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3400000\r\n\r\n";
    holder.write_all(head.as_bytes()).await.expect("sent");
    holder
        .write_all("x".repeat(3_300_000).as_bytes())
        .await
        .expect("sent");
    let document = format!(r#"{{"t":"{}"}}"#, "x".repeat(1_000_000));
    let refused = async {
        loop {
            let said = rest.post("/api/entity/JSON/held/1", document.clone()).await;
            if said.status != 200 {
                return said;
            }
        }
    };
    let said = timeout(PATIENCE, refused).await.expect("refused");
    said.refused_for_now(429, "TOO_MANY_REQUESTS");
    assert!(
        said.text.contains("INTERLOCK_RECEIVING_BYTES"),
        "{}",
        said.text
    );
    let connection = server.connect().await;
    let model = json!({"name": "held", "version": 1});
    let large = new_entity(&model, &json!({"t": "x".repeat(1_000_000)}));
    let refused = connection
        .unary(
            "entityManage",
            request("EntityCreateRequest", "u", large.clone()),
            &[],
        )
        .await
        .expect_err("no room");
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted, "{refused}");
    rest.create("held", r#"{"t":"small"}"#).await;
    create(&connection, &model, json!({"t": "small"})).await;
    logged(&server, &["WARN", "INTERLOCK_RECEIVING_BYTES"]).await;
    drop(holder);
    let again = async {
        while connection.call("EntityCreateRequest", large.clone()).await["success"] != true {}
    };
    timeout(PATIENCE, again).await.expect("room again");
}

#[tokio::test]
async fn large_documents_do_not_end_a_process_with_little_memory() {
    // The unoptimised program is itself 90 MB of address space, and the allocator reserves 128 MB
    // at a time.
    let server = Server::under(&["prlimit", "--as=480000000"], &[]);
    let rest = server.rest();
    rest.lock_model("big", r#"{"t":"x"}"#).await;
    let document = format!(r#"{{"t":"{}"}}"#, "x".repeat(9_000_000));
    let rest_ones = (0..24).map(|_| {
        let (rest, document) = (server.rest(), document.clone());
        async move {
            rest.post("/api/entity/JSON/big/1", document)
                .await
                .status
                .as_u16()
        }
    });
    let statuses = join_all(rest_ones).await;
    assert!(statuses.contains(&200), "{statuses:?}");
    assert!(
        statuses
            .iter()
            .all(|status| [200, 429, 503].contains(status)),
        "{statuses:?}"
    );
    let connection = server.connect().await;
    let model = json!({"name": "big", "version": 1});
    let large = new_entity(&model, &json!({"t": "x".repeat(9_000_000)}));
    let calls = (0..24).map(|n| {
        let event = request("EntityCreateRequest", &format!("c{n}"), large.clone());
        connection.ask(event)
    });
    for answers in join_all(calls).await {
        let answer = payload_of(&answers[0]);
        let retryable = answer["error"]["retryable"] == true;
        assert!(
            answer["success"] == true || retryable,
            "{}",
            answer["error"]
        );
    }
    rest.create("big", r#"{"t":"small"}"#).await;
}

#[test]
fn health_readiness_and_metrics_answer_beside_threads_that_are_blocked() {
    let folder = tempfile::tempdir().expect("a folder");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let admin = free.local_addr().expect("an address");
    drop(free);
    let settings = [
        ("CYODA_STORAGE_BACKEND", "memory".to_owned()),
        ("CYODA_HTTP_PORT", "0".to_owned()),
        ("CYODA_GRPC_PORT", "0".to_owned()),
        ("CYODA_ADMIN_PORT", admin.port().to_string()),
        ("HOME", folder.path().display().to_string()),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value));
    let sources = interlock::app::config::Sources::new(
        settings.into(),
        folder.path(),
        None,
        &folder.path().join("none"),
    )
    .expect("no files");
    let config = interlock::app::config::Config::read(sources).expect("settings");
    let serving = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let telemetry =
        interlock::telemetry::Telemetry::start(tracing::Level::WARN, interlock::storage::DRIVER);
    let running = std::thread::spawn({
        let handle = serving.handle().clone();
        move || handle.block_on(interlock::app::run(config, telemetry))
    });
    let asking = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let rest = asking.block_on(async {
        let rest = Rest::new(admin);
        let wait = async {
            while rest.try_get("/readyz").await.is_none() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("it listens");
        rest
    });
    // Nothing but these runs on the threads that serve, until the test lets go.
    let (blocked, is_blocked) = mpsc::channel();
    let mut holds = Vec::new();
    for _ in 0..2 {
        let (release, held) = mpsc::channel::<()>();
        holds.push(release);
        let blocked = blocked.clone();
        serving.spawn(async move {
            blocked.send(()).expect("the test waits");
            let _ = held.recv();
        });
    }
    for _ in 0..2 {
        is_blocked
            .recv_timeout(PATIENCE)
            .expect("a thread is blocked");
    }
    for path in ["/livez", "/readyz", "/metrics"] {
        let quickest = (0..5).map(|_| {
            let begun = Instant::now();
            let said = asking.block_on(rest.get(path));
            assert_eq!(said.status, 200, "{path}: {}", said.text);
            begun.elapsed()
        });
        let quickest = quickest.min().expect("five times");
        assert!(
            quickest < Duration::from_millis(100),
            "{path}: {quickest:?}"
        );
    }
    let begun = Instant::now();
    while asking.block_on(rest.get("/readyz")).status != 503 {
        assert!(begun.elapsed() < PATIENCE, "it says that it is ready");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(holds);
    drop(rest);
    serving.shutdown_background();
    drop(running);
}

#[tokio::test]
async fn a_mocked_service_listens_on_this_machine_only_unless_an_address_is_set() {
    let server = Server::start();
    let listening = server.listening();
    assert!(
        listening.iter().all(|address| address.ip().is_loopback()),
        "{listening:?}"
    );
    logged(&server, &["this machine only", "INTERLOCK_BIND_ADDRESS"]).await;
    let open = Server::with(&[("INTERLOCK_BIND_ADDRESS", "0.0.0.0")]);
    let elsewhere = |server: &Server| {
        let listening = server.listening();
        let elsewhere = listening
            .iter()
            .filter(|address| !address.ip().is_loopback());
        elsewhere.count()
    };
    assert_eq!(elsewhere(&open), 2);
    let with_tokens = Server::with(crate::support::iam::SETTINGS);
    assert_eq!(elsewhere(&with_tokens), 2);
    for server in [&open, &with_tokens] {
        let log = server.log.lock().expect("no panic").clone();
        assert!(
            !log.iter().any(|line| line.contains("this machine only")),
            "{log:?}"
        );
    }
}

#[tokio::test]
async fn messages_of_callers_that_are_not_known_are_small() {
    const PUBLIC: [&str; 2] = [
        "/grpc.health.v1.Health/Check",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    ];
    let server = Server::start();
    for path in PUBLIC {
        let (_client, pieces, answered) = call(server.grpc, path, 1 << 20).await;
        // The beginning of a message of a megabyte.
        let half = [&[0, 0, 16, 0, 0][..], b"half"].concat();
        let sent = pieces.send(Ok(Frame::data(half.into()))).await;
        sent.expect("sent");
        let response = timeout(PATIENCE, answered).await.expect("in time");
        let (code, message) = status(response.expect("no panic")).await;
        // The reflection service ends its stream without saying why.
        assert!(["8", "0"].contains(&&*code), "{path}: {code} {message}");
    }
}

#[tokio::test]
async fn compressed_messages_count_with_what_they_may_become() {
    let server = Server::with(&[("INTERLOCK_RECEIVING_BYTES", "8000000")]);
    // The end of the body does not come, so nobody reads what is in the message.
    let (_client, pieces, answered) = call(server.grpc, UNARY, 1 << 20).await;
    let half = [&[1, 0, 0, 64, 0][..], &[0; 16_000]].concat();
    let sent = pieces.send(Ok(Frame::data(half.into()))).await;
    sent.expect("sent");
    let (_other, more, refused) = call(server.grpc, UNARY, 1 << 20).await;
    let half = [&[1, 0, 0, 64, 0][..], &[0; 16_000]].concat();
    let sent = more.send(Ok(Frame::data(half.into()))).await;
    sent.expect("sent");
    let response = timeout(PATIENCE, async {
        tokio::select! { one = answered => one, other = refused => other }
    });
    let response = response.await.expect("in time");
    let (code, message) = status(response.expect("no panic")).await;
    assert_eq!(code, "8", "{message}");
    assert!(message.contains("INTERLOCK_RECEIVING_BYTES"), "{message}");
}
