//! Streams end when what their caller authenticated with is taken away (`rest.md` §7).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::Code;

use crate::support::provider::{FIRST, Provider};
use crate::support::token::{STRANGE_KEY, claims_of, seconds, signed};
use crate::support::{
    Coming, Connection, Member, PATIENCE, Rest, Server, code, create, iam, locked_model,
    new_entity, request, wait::until,
};

const TENANT: &str = "7d3c1d3e-0b5f-4a56-9f0a-3a1a6a6f0001";
const PAIRS: &str = "/api/oauth/keys/keypair";
const TRUSTED: &str = "/api/oauth/keys/trusted";
const PROVIDERS: &str = "/api/oauth/oidc/providers";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const EXCHANGE: &str = "grant_type=urn:ietf:params:oauth:grant-type:token-exchange";
const SUBSCRIBE: &str = "EntityChangesSubscribeRequest";
const STREAM: &str = "/api/entity/changes/stream?fromSequence=0";

/// How long a stream may outlive what it rests on.
const SOON: Duration = Duration::from_secs(1);

fn server() -> Server {
    Server::with(&iam::settings(&[
        ("CYODA_BOOTSTRAP_TENANT_ID", TENANT),
        ("CYODA_OIDC_REQUIRE_HTTPS", "false"),
        ("CYODA_OIDC_ALLOW_PRIVATE_NETWORKS", "true"),
        ("CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED", "true"),
        ("CYODA_IAM_M2M_ADMIN_ROLE_ENABLED", "true"),
    ]))
}

/// A client that was made, and its secret.
async fn made(rest: &Rest) -> (String, String) {
    let made = rest.post("/api/clients", "").await.ok();
    (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    )
}

async fn connect(server: &Server, token: &str) -> Connection {
    let bearer = format!("Bearer {token}");
    server.connect_as(&[("authorization", &bearer)]).await
}

/// Streams of one caller of every kind, each of which has been answered something.
struct Streams {
    /// A member, if the caller may be one.
    member: Option<Member>,
    /// One with a subscription on it, and one whose client has said everything.
    subscribed: Connection,
    half_closed: Connection,
    method: tonic::Streaming<interlock::event::frame::Frame>,
    sent: Coming,
    batched: Coming,
}

impl Streams {
    async fn open(server: &Server, token: &str, is_member: bool) -> Self {
        let member = if is_member {
            let connection = connect(server, token).await;
            Some(Member::join_on(connection, &["work"]).await)
        } else {
            None
        };
        let follow = || request(SUBSCRIBE, "follow", json!({"fromSequence": 0}));
        let subscribed = connect(server, token).await;
        let mut answers = subscribed.begin(follow()).await;
        answers.recv().await.expect("a change");
        let mut half_closed = connect(server, token).await;
        let mut answers = half_closed.begin(follow()).await;
        half_closed.half_close();
        answers.recv().await.expect("a change");
        let mut method = subscribed
            .live("entitySearchCollection", follow(), &[])
            .await
            .expect("answers");
        method.message().await.expect("answers").expect("a change");
        let rest = iam::bearing(server, token);
        let mut sent = rest.open("GET", STREAM, "").await;
        sent.sent().await.expect("a change");
        let batch = json!({"specversion": "1.0", "id": "1", "source": "/", "type": SUBSCRIBE,
            "data": {"id": "1", "fromSequence": 0}});
        let mut batched = rest
            .with("content-type", "application/cloudevents+json")
            .open("POST", "/api/events", &batch.to_string())
            .await;
        batched.first().await;
        Self {
            member,
            subscribed,
            half_closed,
            method,
            sent,
            batched,
        }
    }

    /// Each of them ends, and says why where it can.
    async fn end(self, since: Instant, what: &str) {
        let Self {
            member,
            subscribed,
            half_closed,
            mut method,
            mut sent,
            mut batched,
        } = self;
        let member = member.map(|member| member.connection);
        for connection in [Some(&subscribed), Some(&half_closed), member.as_deref()] {
            let Some(connection) = connection else {
                continue;
            };
            let status = connection.end().await.expect_err(what);
            assert_eq!(status.code(), Code::Unauthenticated, "{what}: {status}");
            assert!(status.message().contains("authenticate again"), "{status}");
        }
        let status = loop {
            let message = tokio::time::timeout(PATIENCE, method.message()).await;
            match message.expect(what) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{what}: it ended without a status"),
                Err(status) => break status,
            }
        };
        assert_eq!(status.code(), Code::Unauthenticated, "{what}: {status}");
        let said = sent.rest().await;
        assert!(said.contains("UNAUTHORIZED"), "{what}: {said}");
        batched.rest().await;
        let took = since.elapsed();
        assert!(took < SOON, "{what}: {took:?}");
    }
}

/// Something to receive events about.
async fn some_change(server: &Server) -> (Connection, Value) {
    let admin = iam::signed(&claims_of(TENANT, &["ROLE_ADMIN"]));
    let connection = connect(server, &admin).await;
    let model = locked_model(&connection, "doc", json!({"n": 1})).await;
    create(&connection, &model, json!({"n": 1})).await;
    (connection, model)
}

#[tokio::test]
async fn streams_end_when_their_client_is_deleted_or_gets_another_secret() {
    let server = server();
    let rest = iam::admin(&server, TENANT);
    let (innocent, model) = some_change(&server).await;
    for (what, method, path) in [
        ("another secret", "PUT", "/secret"),
        ("deleted", "DELETE", ""),
    ] {
        let (id, secret) = made(&rest).await;
        let other = made(&rest).await;
        let token = iam::token(&server.rest(), &id, &secret).await;
        let others = iam::token(&server.rest(), &other.0, &other.1).await;
        let (streams, untouched) = (
            Streams::open(&server, &token, true).await,
            Member::join_on(connect(&server, &others).await, &["other"]).await,
        );
        let said = rest
            .send(method, &format!("/api/clients/{id}{path}"), "")
            .await;
        said.ok();
        streams.end(Instant::now(), what).await;
        assert!(!iam::is_taken(&server, &token).await, "{what}");
        // Those of others go on.
        untouched
            .connection
            .ok("AccountGetRequest", json!({}))
            .await;
        let members = rest.get("/api/compute/members").await;
        if members.status == 200 {
            assert!(!members.text.contains("\"work\""), "{}", members.text);
        }
    }
    innocent
        .ok("EntityCreateRequest", new_entity(&model, &json!({"n": 2})))
        .await;
}

#[tokio::test]
async fn who_replaces_its_own_secret_on_a_stream_receives_the_new_one() {
    let server = server();
    let rest = iam::admin(&server, TENANT);
    let path = "/api/clients?withAdminRole=true";
    let made = rest.post(path, "").await.ok();
    let (id, mut secret) = (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    );
    // The answer and the end of the stream race.
    for _ in 0..6 {
        let token = iam::token(&server.rest(), &id, &secret).await;
        let connection = connect(&server, &token).await;
        let asked = json!({"clientId": id});
        let answer = connection.ok("ClientSecretResetRequest", asked).await;
        secret = iam::text(&answer["clientSecret"]);
        let status = connection.end().await.expect_err("revoked");
        assert_eq!(status.code(), Code::Unauthenticated, "{status}");
    }
}

#[tokio::test]
async fn a_request_that_waits_for_tasks_ends_when_its_client_is_deleted() {
    let server = server();
    let rest = iam::admin(&server, TENANT);
    let (id, secret) = made(&rest).await;
    let token = iam::token(&server.rest(), &id, &secret).await;
    let worker = iam::bearing(&server, &token);
    let actions = json!({"actions": ["a"]}).to_string();
    worker.put("/api/workers/w1", actions).await.ok();
    let asked = json!({"workerId": "w1", "actions": ["a"], "blockMs": 300_000});
    let waiting =
        tokio::spawn(async move { worker.post("/api/tasks/await", asked.to_string()).await });
    // It waits by then; else it is refused all the same.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let deleted = rest.send("DELETE", &format!("/api/clients/{id}"), "").await;
    deleted.ok();
    let answered = tokio::time::timeout(PATIENCE, waiting).await;
    let answered = answered.expect("it ends").expect("no panic");
    answered.refused(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn a_start_that_waits_for_its_run_ends_when_its_client_is_deleted() {
    let server = server();
    let rest = iam::admin(&server, TENANT);
    let (id, secret) = made(&rest).await;
    let token = iam::token(&server.rest(), &id, &secret).await;
    let connection = connect(&server, &token).await;
    let document = "kind: Workflow\nname: long\nversion: \"1\"\nstart:\n  waitForSignal: {type: a, timeoutMs: 3600000, onTimeout: flo.TimedOut}\n  transitions: {success: flo.Completed}\n";
    let payload = json!({"document": document});
    connection.ok("RunDefinitionCreateRequest", payload).await;
    let start = json!({"definition": "long", "runId": "mine", "waitMs": 30_000});
    let caller = iam::bearing(&server, &token);
    let waiting = tokio::spawn(async move { caller.post("/api/runs", start.to_string()).await });
    until("the run is there", async || {
        rest.get("/api/runs/mine").await.status == 200
    })
    .await;
    let since = Instant::now();
    let deleted = rest.delete(&format!("/api/clients/{id}")).await;
    deleted.ok();
    let answered = waiting.await.expect("no panic");
    answered.refused(401, "UNAUTHORIZED");
    assert!(since.elapsed() < Duration::from_secs(15), "at once");
}

/// An event of a batch.
fn event(kind: &str, mut data: Value) -> Value {
    data["id"] = json!("x");
    json!({"specversion": "1.0", "id": "x", "source": "/", "type": kind, "data": data})
}

/// Whether each event of a batch succeeded, or the code of its failure.
async fn outcomes(rest: &Rest, events: Value) -> Vec<Value> {
    let rest = rest.with("content-type", "application/cloudevents-batch+json");
    let answers = rest.post("/api/events", events.to_string()).await.ok();
    let outcome = |answer: &Value| {
        if answer["data"]["success"] == true {
            json!(true)
        } else {
            json!(code(&answer["data"]))
        }
    };
    let answers = answers.as_array().expect("answers");
    answers.iter().map(outcome).collect()
}

#[tokio::test]
async fn events_of_a_batch_are_refused_once_its_client_is_deleted_or_gets_another_secret() {
    let server = server();
    let rest = iam::admin(&server, TENANT);
    for change in ["ClientDeleteRequest", "ClientSecretResetRequest"] {
        let path = "/api/clients?withAdminRole=true";
        let made = rest.post(path, "").await.ok();
        let (id, secret) = (
            iam::text(&made["client_id"]),
            iam::text(&made["client_secret"]),
        );
        let token = iam::token(&server.rest(), &id, &secret).await;
        let events = json!([
            event("AccountGetRequest", json!({})),
            event(change, json!({"clientId": id})),
            event("AccountGetRequest", json!({})),
            event("ClientCreateRequest", json!({"withAdminRole": true})),
        ]);
        let refused = "UNAUTHORIZED";
        assert_eq!(
            outcomes(&iam::bearing(&server, &token), events).await,
            [json!(true), json!(true), json!(refused), json!(refused)],
            "{change}"
        );
    }
}

#[tokio::test]
async fn events_of_a_batch_that_begin_after_the_token_has_expired_are_refused() {
    let server = server();
    let worker = iam::bearing(&server, &iam::signed(&claims_of(TENANT, &["ROLE_M2M"])));
    let actions = json!({"actions": ["a"]}).to_string();
    worker.put("/api/workers/w1", actions).await.ok();
    // It is taken for another two or three seconds, because clocks may differ by 30.
    let mut claims = claims_of(TENANT, &["ROLE_M2M"]);
    claims["exp"] = json!(seconds(-27));
    let wait = json!({"workerId": "w1", "actions": ["a"], "blockMs": 3_500});
    let events = json!([
        event("TaskAwaitRequest", wait),
        event("AccountGetRequest", json!({})),
    ]);
    let caller = iam::bearing(&server, &iam::signed(&claims));
    let expected = [json!(true), json!("UNAUTHORIZED")];
    assert_eq!(outcomes(&caller, events).await, expected);
}

#[tokio::test]
async fn a_request_whose_body_comes_after_its_client_is_deleted_is_refused() {
    let server = server();
    let rest = iam::admin(&server, TENANT);
    let (id, secret) = made(&rest).await;
    let token = iam::token(&server.rest(), &id, &secret).await;
    let mut socket = TcpStream::connect(server.http).await.expect("connects");
    let head = format!(
        "POST /api/model/import/JSON/SAMPLE_DATA/doc/1 HTTP/1.1\r\nhost: localhost\r\n\
         authorization: Bearer {token}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: 7\r\nexpect: 100-continue\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.expect("sent");
    // The server asks for the body once it has authenticated the caller.
    let mut go_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    socket.read_exact(&mut go_on).await.expect("an answer");
    assert!(go_on.starts_with(b"HTTP/1.1 100"));
    rest.delete(&format!("/api/clients/{id}")).await.ok();
    socket.write_all(br#"{"n":1}"#).await.expect("sent");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("text");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[tokio::test]
async fn streams_end_when_the_key_pair_that_signed_is_withdrawn() {
    let server = server();
    let rest = iam::admin(&server, TENANT);
    some_change(&server).await;
    let issue = async || {
        let body = json!({"algorithm": "RS256", "audience": "client", "invalidateCurrent": true});
        iam::text(&rest.post(PAIRS, body.to_string()).await.ok()["keyId"])
    };
    for (what, method, path, body) in [
        ("invalidated", "POST", "/invalidate", ""),
        ("grace", "POST", "/invalidate", r#"{"gracePeriodSec": 2}"#),
        ("deleted", "DELETE", "", ""),
    ] {
        let pair = issue().await;
        let token = iam::token(&server.rest(), iam::FIRST.0, iam::FIRST.1).await;
        assert_eq!(iam::claims(&token).1, pair);
        let streams = Streams::open(&server, &token, true).await;
        let said = rest
            .send(method, &format!("{PAIRS}/{pair}{path}"), body)
            .await;
        assert_eq!(said.status, 200, "{}", said.text);
        let mut since = Instant::now();
        if what == "grace" {
            // Not before it ends.
            streams.subscribed.ok("AccountGetRequest", json!({})).await;
            since += Duration::from_secs(2);
        }
        streams.end(since, what).await;
    }
}

#[tokio::test]
async fn streams_end_when_the_trusted_key_behind_an_exchange_is_withdrawn() {
    let server = server();
    let rest = iam::admin(&server, TENANT);
    some_change(&server).await;
    let key = interlock::auth::SigningKey::parse(STRANGE_KEY).expect("a key");
    let jwk: Value = serde_json::from_str(&key.public().jwk()).expect("JSON");
    let body = json!({"keyId": "theirs", "jwk": jwk, "audience": "human"}).to_string();
    for (what, method, path) in [
        ("invalidated", "POST", "/theirs/invalidate"),
        ("deleted", "DELETE", "/theirs"),
    ] {
        rest.post(TRUSTED, body.clone()).await.ok();
        let mut claims = claims_of(TENANT, &["ROLE_M2M"]);
        claims["sub"] = json!("ann");
        let subject = signed(&claims, Some("theirs"), STRANGE_KEY);
        let asked = format!("{EXCHANGE}&subject_token={subject}&subject_token_type={JWT}");
        let client = server
            .rest()
            .with("authorization", &iam::basic(iam::FIRST.0, iam::FIRST.1))
            .with("content-type", "application/x-www-form-urlencoded");
        let granted = client.post("/api/oauth/token", asked).await.ok();
        let token = iam::text(&granted["access_token"]);
        let streams = Streams::open(&server, &token, true).await;
        let said = rest.send(method, &format!("{TRUSTED}{path}"), "").await;
        assert_eq!(said.status, 200, "{}", said.text);
        streams.end(Instant::now(), what).await;
        assert!(!iam::is_taken(&server, &token).await, "{what}");
    }
}

#[tokio::test]
async fn streams_end_when_their_provider_is_withdrawn_or_drops_the_key() {
    let (server, provider) = (server(), Provider::start().await);
    let rest = iam::admin(&server, TENANT);
    some_change(&server).await;
    let body = json!({"wellKnownConfigUri": provider.well_known()}).to_string();
    let id = iam::text(&rest.post(PROVIDERS, body).await.ok()["id"]);
    let path = format!("{PROVIDERS}/{id}");
    let token = || provider.token_with(FIRST, "roles", json!(["ROLE_M2M"]));
    for what in ["invalidated", "key dropped", "deleted"] {
        let streams = Streams::open(&server, &token(), true).await;
        let said = match what {
            "invalidated" => rest.post(&format!("{path}/invalidate"), "").await,
            "deleted" => rest.delete(&path).await,
            _ => {
                provider.rotate(&[]);
                rest.post(&format!("{PROVIDERS}/reload"), "").await
            }
        };
        said.ok();
        streams.end(Instant::now(), what).await;
        assert!(!iam::is_taken(&server, &token()).await, "{what}");
        if what != "deleted" {
            provider.rotate(&[FIRST]);
            rest.post(&format!("{path}/reactivate"), "").await.ok();
            rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
        }
    }
}
