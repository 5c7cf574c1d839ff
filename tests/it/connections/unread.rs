//! Answers that clients do not read count in a budget.

use tokio::net::TcpSocket;

use super::*;

/// Room for one answer of a tenant, and for one that waits.
const ROOM: &[(&str, &str)] = &[("INTERLOCK_RECEIVING_BYTES", "20000000")];
const ANSWER: usize = 6_000_000;

/// Stores a large document; the id of its entity.
async fn large(server: &Server) -> String {
    let rest = server.rest();
    rest.lock_model("large", r#"{"t":"x"}"#).await;
    let document = format!(r#"{{"t":"{}"}}"#, "x".repeat(ANSWER));
    rest.create("large", &document).await
}

/// Asks for an entity and reads nothing of the answer.
async fn asked(address: SocketAddr, id: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    // The kernel takes little of an answer.
    socket.set_recv_buffer_size(16 << 10).expect("set");
    let mut stream = socket.connect(address).await.expect("a connection");
    let head = format!("GET /api/entity/{id} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream
}

/// The first line of an answer.
async fn begun(stream: &mut TcpStream) -> String {
    let mut line = [0; 12];
    let read = timeout(PATIENCE, stream.read_exact(&mut line)).await;
    read.expect("in time").expect("an answer");
    String::from_utf8_lossy(&line).into_owned()
}

#[tokio::test]
async fn large_answers_wait_until_others_are_read_and_are_refused_when_many_wait() {
    let server = Server::with(ROOM);
    let id = large(&server).await;
    let mut first = asked(server.http, &id).await;
    assert_eq!(begun(&mut first).await, "HTTP/1.1 200");
    // One of the next two waits for room; the other one finds no room to wait.
    let (mut second, mut third) = (asked(server.http, &id).await, asked(server.http, &id).await);
    let (line, mut waiting) = tokio::select! {
        line = begun(&mut second) => (line, third),
        line = begun(&mut third) => (line, second),
    };
    assert_eq!(line, "HTTP/1.1 429");
    let small = server.rest().get("/api/model/").await;
    assert_eq!(small.status, 200, "small answers need no room");
    drop(first);
    assert_eq!(begun(&mut waiting).await, "HTTP/1.1 200");
    let said = server.rest().get(&format!("/api/entity/{id}")).await;
    said.refused_for_now(429, "TOO_MANY_REQUESTS");
    assert!(said.text.contains("unread answers"), "{}", said.text);
}

#[tokio::test]
async fn large_answers_of_calls_count_as_well() {
    let server = Server::with(ROOM);
    let id = large(&server).await;
    let event = request("EntityGetRequest", "u", json!({"entityId": id}));
    let message = interlock::event::frame::Frame::from(event).0;
    let size = u32::try_from(message.len()).expect("small").to_be_bytes();
    let frame = Bytes::from([&[0][..], &size[..], &message[..]].concat());
    let get = async || {
        let (client, pieces, answered) = call(server.grpc, UNARY, 1 << 10).await;
        let sent = pieces.send(Ok(Frame::data(frame.clone()))).await;
        sent.expect("sent");
        (client, answered)
    };
    let (first_client, first) = get().await;
    let first_answer = timeout(PATIENCE, first).await.expect("in time");
    let first_answer = first_answer.expect("answered");
    let ((_second, mut one), (_third, mut other)) = (get().await, get().await);
    let (refused, waiting) = tokio::select! {
        refused = &mut one => (refused, other),
        refused = &mut other => (refused, one),
    };
    let (code, message) = status(refused.expect("answered")).await;
    assert_eq!(code, "8", "{message}");
    assert!(message.contains("unread%20answers"), "{message}");
    drop((first_client, first_answer));
    let answer = timeout(PATIENCE, waiting).await.expect("in time");
    let body = answer.expect("answered").into_body().collect().await;
    assert!(body.expect("read").to_bytes().len() > ANSWER);
}
