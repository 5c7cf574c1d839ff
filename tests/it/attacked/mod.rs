//! The attacks of `tests/attack` in small: beside each of them a client of another tenant is served
//! and loses nothing, and the attack gets the answer that is documented. How long that takes is
//! measured there, not here.

mod bounds;

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
    time::timeout,
};

use crate::support::{
    Connection, Member, PATIENCE, Rest, Server, iam, new_entity, request, scene::simple,
    token::bearer,
};

pub(crate) const ATTACKER: &str = "attacker";
pub(crate) const INNOCENT: &str = "innocent";

/// A server whose callers bear tokens.
pub(crate) fn server() -> Server {
    Server::with(iam::SETTINGS)
}

pub(crate) fn rest_of(server: &Server, tenant: &str) -> Rest {
    server.rest().with(
        "authorization",
        &bearer(tenant, &["ROLE_ADMIN", "ROLE_M2M"]),
    )
}

pub(crate) async fn connection_of(server: &Server, tenant: &str) -> Connection {
    let authorization = bearer(tenant, &["ROLE_ADMIN", "ROLE_M2M"]);
    server
        .connect_as(&[("authorization", authorization.as_str())])
        .await
}

/// A client of another tenant at work: creates and reads, one after the other.
pub(crate) struct Innocent {
    rest: Rest,
    stop: Arc<AtomicBool>,
    work: JoinHandle<Vec<String>>,
}

impl Innocent {
    pub(crate) async fn begin(server: &Server) -> Self {
        let rest = rest_of(server, INNOCENT);
        rest.lock_model("small", r#"{"n":1}"#).await;
        let operator = Rest::new(server.admin);
        let stop = Arc::new(AtomicBool::new(false));
        let (client, stopped) = (rest.clone(), Arc::clone(&stop));
        let work = tokio::spawn(async move {
            let mut made = Vec::new();
            while !stopped.load(Ordering::Relaxed) || made.is_empty() {
                let round = async {
                    let id = client
                        .create("small", &format!(r#"{{"n":{}}}"#, made.len()))
                        .await;
                    client.get(&format!("/api/entity/{id}")).await.ok();
                    assert_eq!(operator.get("/readyz").await.status, 200);
                    id
                };
                made.push(timeout(PATIENCE, round).await.expect("it is served"));
            }
            made
        });
        Self { rest, stop, work }
    }

    /// Ends the work: everything that was acknowledged is there.
    pub(crate) async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let made = self.work.await.expect("it was served throughout");
        for (n, id) in made.iter().enumerate() {
            let entity = self.rest.get(&format!("/api/entity/{id}")).await.ok();
            assert_eq!(entity["data"], json!({ "n": n }));
        }
    }
}

pub(crate) fn group(operator: &str, leaves: impl Iterator<Item = Value>) -> Value {
    json!({"type": "group", "operator": operator, "conditions": leaves.collect::<Value>()})
}

/// Each of which takes long to compile.
pub(crate) fn patterns(count: usize) -> Value {
    let leaf = |n| simple("$.t", "MATCHES_PATTERN", json!(format!("\\pL{{20}}x{n}")));
    group("AND", (0..count).map(leaf))
}

/// None of which is found in [`text_of`].
pub(crate) fn needles(count: usize) -> Value {
    let leaf = |n| simple("$.t", "ICONTAINS", json!(format!("needle {n}")));
    group("OR", (0..count).map(leaf))
}

pub(crate) fn text_of(bytes: usize) -> String {
    "Nothing of THIS is what is looked for; ".repeat(bytes / 39)
}

/// A connection from an address that is not that of the other clients.
pub(crate) async fn connect(to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    let ours = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), 0));
    socket.bind(ours).expect("an address of this machine");
    socket.connect(to).await.expect("connects")
}

const SEARCH: &str = "/api/search/direct/doc/1";

#[tokio::test]
async fn patterns_are_compared_or_refused_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"t":"x"}"#).await;
    let condition = patterns(2).to_string();
    for said in join_all((0..2).map(|_| attacker.post(SEARCH, condition.clone()))).await {
        if said.status != 200 {
            said.refused(400, "INVALID_CONDITION");
        }
    }
    innocent.end().await;
}

#[tokio::test]
async fn a_long_text_is_searched_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"t":"x"}"#).await;
    let id = attacker
        .create("doc", &json!({"t": text_of(50_000)}).to_string())
        .await;
    let mut condition = needles(50);
    let searches = (0..2).map(|_| attacker.post(SEARCH, condition.to_string()));
    for said in join_all(searches).await {
        assert_eq!((said.status.as_u16(), said.text.as_str()), (200, ""));
    }
    let leaves = condition["conditions"].as_array_mut().expect("a list");
    leaves.push(simple("$.t", "ICONTAINS", json!("nothing of this")));
    let said = attacker.post(SEARCH, condition.to_string()).await;
    assert!(said.text.contains(&id), "{}", said.status);
    innocent.end().await;
}

#[tokio::test]
async fn a_long_text_is_judged_by_a_criterion_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"t":"x"}"#).await;
    let workflow = json!({"version": "1.1", "name": "judged", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "GO", "next": "DONE", "manual": false, "criterion": needles(50)}]},
        "DONE": {}}});
    let import = json!({"workflows": [workflow]}).to_string();
    attacker
        .post("/api/model/doc/1/workflow/import", import)
        .await
        .ok();
    let document = json!({"t": text_of(50_000)}).to_string();
    for id in join_all((0..4).map(|_| attacker.create("doc", &document))).await {
        let entity = attacker.get(&format!("/api/entity/{id}")).await.ok();
        assert_eq!(entity["meta"]["state"], "NEW");
    }
    innocent.end().await;
}

#[tokio::test]
async fn a_list_of_thousands_is_compared_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"n":1}"#).await;
    let items: Value = (0..200)
        .map(|n| json!({"model": {"name": "doc", "version": 1}, "payload": json!({"n": n}).to_string()}))
        .collect();
    attacker
        .post("/api/entity/JSON", items.to_string())
        .await
        .ok();
    let numbers: Vec<i64> = (0..5_000).map(|n| 199 + 7 * n).collect();
    let condition = simple("$.n", "IN", json!(numbers)).to_string();
    let said = attacker.post(SEARCH, condition).await;
    assert_eq!(said.text.lines().count(), 1, "{}", said.status);
    assert!(said.text.contains(r#""n":199"#), "{}", said.text);
    innocent.end().await;
}

#[tokio::test]
async fn large_documents_are_kept_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let connection = connection_of(&server, ATTACKER).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"t":"x"}"#).await;
    let model = json!({"name": "doc", "version": 1});
    let text = "x".repeat(2_000_000);
    let creates = (0..4).map(async |n| {
        let new = new_entity(&model, &json!({"t": text}));
        connection
            .ask(request("EntityCreateRequest", &format!("large-{n}"), new))
            .await
    });
    for answers in join_all(creates).await {
        let made = crate::support::payload_of(&answers[0]);
        let id = made["transactionInfo"]["entityIds"][0]
            .as_str()
            .expect("an id");
        let entity = attacker.get(&format!("/api/entity/{id}")).await.ok();
        assert_eq!(entity["data"]["t"].as_str().map(str::len), Some(text.len()));
    }
    innocent.end().await;
}

#[tokio::test]
async fn unfinished_connections_are_open_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let mut held = Vec::new();
    for begun in [
        "",
        "GET /api/account HTTP/1.1\r\nhost: x\r\nx-a: ",
        "POST /api/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\ngrant_type=",
    ] {
        for address in [server.http, server.grpc, server.admin] {
            for _ in 0..5 {
                let mut connection = connect(address).await;
                connection.write_all(begun.as_bytes()).await.expect("sent");
                held.push(connection);
            }
        }
    }
    let fresh = rest_of(&server, INNOCENT);
    fresh.get("/api/account").await.ok();
    innocent.end().await;
    drop(held);
}

#[tokio::test]
async fn names_that_nobody_has_get_no_token_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let rest = server.rest();
    let guesses = (0..10).map(|n| {
        let rest = rest.clone();
        async move { iam::ask(&rest, &format!("nobody-{n}"), "guess").await }
    });
    for said in join_all(guesses).await {
        assert!([401, 429, 503].contains(&said.status.as_u16()), "{said:?}");
    }
    innocent.end().await;
}

#[tokio::test]
async fn timers_wait_for_a_silent_member_beside_an_innocent_client() {
    let server = server();
    let innocent = Innocent::begin(&server).await;
    let silent = Member::join_on(connection_of(&server, ATTACKER).await, &["silent"]).await;
    let attacker = rest_of(&server, ATTACKER);
    attacker.lock_model("doc", r#"{"n":1}"#).await;
    let import = json!({"workflows": [silent_timer(1)]}).to_string();
    attacker
        .post("/api/model/doc/1/workflow/import", import)
        .await
        .ok();
    let id = attacker.create("doc", r#"{"n":1}"#).await;
    let call = silent.next().await;
    assert_eq!(call.payload["entityId"], json!(id));
    innocent.end().await;
    let entity = attacker.get(&format!("/api/entity/{id}")).await.ok();
    assert_eq!(entity["meta"]["state"], "NEW", "it waits for its member");
}

/// A workflow whose timer waits for a member for as long as it may.
pub(crate) fn silent_timer(delay_ms: u64) -> Value {
    let config = json!({"calculationNodesTags": "silent", "responseTimeoutMs": 3_600_000});
    let processor =
        json!({"type": "EXTERNAL", "name": "work", "executionMode": "SYNC", "config": config});
    json!({"version": "1.1", "name": "timed", "initialState": "NEW", "states": {
        "NEW": {"transitions": [{"name": "FIRE", "next": "DONE", "manual": false,
            "schedule": {"delayMs": delay_ms}, "processors": [processor]}]},
        "DONE": {}}})
}
