//! Secrets stay where they are: nothing that the server prints, answers or keeps tells them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::support::{
    Connection, Member, Rest, Server, governed_model, new_entity, processed_by, request,
    sync_processor,
    token::{KEY, KID, STRANGE_KEY, TAKES_TOKENS, claims_of, seconds, signed},
};

const CLIENT: &str = "the-first-client";
const SECRET: &str = "its+secret/of:odd=signs";
/// Almost the secret.
const GUESS: &str = "its+secret/of:odd=sighs";
const METRICS: &str = "what-the-scraper-knows";
const HMAC: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
const ENCRYPTION: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=";

const SETTINGS: &[(&str, &str)] = &[
    ("CYODA_LOG_LEVEL", "debug"),
    ("CYODA_ERROR_RESPONSE_MODE", "verbose"),
    ("CYODA_BOOTSTRAP_CLIENT_ID", CLIENT),
    ("CYODA_BOOTSTRAP_CLIENT_SECRET", SECRET),
    ("CYODA_METRICS_BEARER", METRICS),
    ("CYODA_HMAC_SECRET", HMAC),
    ("INTERLOCK_KEY_ENCRYPTION_KEY", ENCRYPTION),
];

/// What is a secret, and everything in which none may be.
#[derive(Default)]
struct Watch {
    secrets: Vec<(&'static str, String)>,
    said: Vec<(String, Vec<u8>)>,
}

impl Watch {
    fn keep(&mut self, what: &'static str, secret: impl Into<String>) {
        self.secrets.push((what, secret.into()));
    }

    fn hear(&mut self, from: impl Into<String>, said: impl Into<Vec<u8>>) {
        self.said.push((from.into(), said.into()));
    }

    fn check(&self) {
        for (from, said) in &self.said {
            for (what, secret) in &self.secrets {
                assert!(!secret.is_empty());
                let is_reported = said
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes());
                assert!(
                    !is_reported,
                    "{what} is in {from}: {}",
                    String::from_utf8_lossy(said)
                );
            }
        }
    }

    /// A token: all of it, and the part that makes it one.
    fn keep_token(&mut self, what: &'static str, token: &str) {
        let (_, signature) = token.rsplit_once('.').expect("a signature");
        self.keep(what, signature);
    }

    async fn ask(&mut self, rest: &Rest, method: &str, path: &str, body: &str) -> Value {
        let said = rest.send(method, path, body.to_owned()).await;
        self.hear(format!("{method} {path}"), said.text.clone());
        for (name, value) in &said.headers {
            self.hear(format!("{name} of {path}"), value.as_bytes());
        }
        serde_json::from_str(&said.text).unwrap_or_default()
    }

    /// Asks for a token, and keeps it.
    async fn take(&mut self, rest: &Rest, authorization: &str, body: &str) -> Option<String> {
        let said = rest
            .with("authorization", authorization)
            .with("content-type", "application/x-www-form-urlencoded")
            .send("POST", "/api/oauth/token", body.to_owned())
            .await;
        let answer: Value = serde_json::from_str(&said.text).expect("JSON");
        let Some(token) = answer["access_token"].as_str() else {
            self.hear("a refusal of a token", said.text);
            return None;
        };
        self.keep_token("a minted token", token);
        Some(token.to_owned())
    }
}

fn basic(client: &str, secret: &str) -> String {
    let pair = BASE64_STANDARD.encode(format!("{client}:{secret}"));
    format!("Basic {pair}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_anything_that_is_printed_answered_or_kept() {
    let mut watch = Watch::default();
    for (what, secret) in [
        ("the secret of a client", SECRET),
        ("it as forms write it", "its%2Bsecret%2Fof%3Aodd%3Dsigns"),
        ("a guess", GUESS),
        ("the secret of the scraper", METRICS),
        ("the secret of the cluster", HMAC),
        ("the key of keys", ENCRYPTION),
    ] {
        watch.keep(what, secret);
    }
    for line in KEY.lines().filter(|line| !line.starts_with("-----")) {
        watch.keep("the signing key", line);
    }
    for (client, secret) in [(CLIENT, SECRET), (CLIENT, GUESS)] {
        let (_, pair) = basic(client, secret).split_once(' ').map_or_else(
            || panic!("a scheme"),
            |(scheme, pair)| (scheme.to_owned(), pair.to_owned()),
        );
        watch.keep("a pair", pair);
    }
    let mut server = Server::on_disk(&[&TAKES_TOKENS[..], SETTINGS].concat());
    let token = tokens(&mut watch, &server).await;
    let bearer = format!("Bearer {token}");
    let rest = server.rest().with("authorization", &bearer);
    let entity = work(&mut watch, &server, &bearer).await;
    for (method, path, body) in [
        ("GET", "/api/account".to_owned(), ""),
        ("GET", format!("/api/entity/{entity}"), ""),
        ("GET", format!("/api/entity/{entity}/changes"), ""),
        ("GET", format!("/api/entity/{entity}/explain"), ""),
        ("GET", format!("/api/audit/entity/{entity}?limit=1000"), ""),
        ("GET", "/api/compute/members".to_owned(), ""),
        ("GET", "/api/admin/log-level".to_owned(), ""),
        ("GET", "/api/help/config/all".to_owned(), ""),
        ("GET", "/openapi.json".to_owned(), ""),
        ("GET", "/api/entity/nonsense".to_owned(), ""),
        ("POST", "/api/entity/JSON/doc/1".to_owned(), "{"),
        (
            "POST",
            "/api/search/direct/doc/1".to_owned(),
            r#"{"type":"x"}"#,
        ),
        ("POST", "/api/events".to_owned(), "no event"),
        (
            "POST",
            "/api/admin/log-level".to_owned(),
            r#"{"level":"loud"}"#,
        ),
    ] {
        watch.ask(&rest, method, &path, body).await;
    }
    let admin = Rest::new(server.admin);
    for scraper in [METRICS, SECRET, "wrong"] {
        let asking = admin.with("authorization", &format!("Bearer {scraper}"));
        watch.ask(&asking, "GET", "/metrics", "").await;
    }
    server.stop().await;
    let log = server.logged();
    assert!(log.contains("DEBUG"), "it says little: {log}");
    watch.hear("what it printed", log);
    server.restart();
    watch.ask(&server.rest(), "GET", "/api/account", "").await;
    server.stop().await;
    watch.hear("what it printed the second time", server.logged());
    files(&mut watch, &server.stored_files());
    watch.check();
}

/// Everything that is kept.
fn files(watch: &mut Watch, folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(watch, &path);
        } else {
            let kept = std::fs::read(&path).expect("readable");
            watch.hear(path.display().to_string(), kept);
        }
    }
}

/// Tokens, asked for rightly and wrongly, and tried where they are good for nothing; one that is
/// good.
async fn tokens(watch: &mut Watch, server: &Server) -> String {
    let rest = server.rest();
    let grant = "grant_type=client_credentials";
    let token = watch.take(&rest, &basic(CLIENT, SECRET), grant).await;
    let in_body =
        format!("{grant}&client_id={CLIENT}&client_secret=its%2Bsecret%2Fof%3Aodd%3Dsigns");
    assert!(watch.take(&rest, "", &in_body).await.is_some());
    for (authorization, body) in [
        (basic(CLIENT, GUESS), grant),
        (basic(SECRET, CLIENT), grant),
        (basic(CLIENT, SECRET), "grant_type=password"),
        (format!("Basic {SECRET}"), grant),
        (format!("Bearer {SECRET}"), grant),
    ] {
        assert!(watch.take(&rest, &authorization, body).await.is_none());
    }
    let mut expired = claims_of("acme", &[]);
    expired["exp"] = json!(seconds(-100));
    for bad in [
        signed(&expired, Some(&KID), KEY),
        signed(&claims_of("acme", &[]), Some(&KID), STRANGE_KEY),
        signed(&claims_of("acme", &[]), Some("unknown"), KEY),
    ] {
        watch.keep_token("a bad token", &bad);
        let bearer = format!("Bearer {bad}");
        let rest = rest.with("authorization", &bearer);
        watch.ask(&rest, "GET", "/api/account", "").await;
        watch.ask(&rest, "GET", "/api/nothing", "").await;
        let mut grpc = crate::support::client(server.grpc).await;
        let mut call = tonic::Request::new(request("AccountGetRequest", "1", json!({})).into());
        let value = bearer.parse().expect("text");
        call.metadata_mut().insert("authorization", value);
        let status = grpc.entity_search(call).await.expect_err("bad");
        watch.hear("a status", status.message().to_owned());
    }
    let token = token.expect("a token");
    clients(watch, &rest, &token).await;
    token
}

/// A client that is made, gets a token, is given another secret, and is deleted.
async fn clients(watch: &mut Watch, rest: &Rest, token: &str) {
    let admin = rest.with("authorization", &format!("Bearer {token}"));
    let grant = "grant_type=client_credentials";
    let secret_of = |answer: &Value| {
        let secret = answer["client_secret"].as_str();
        secret.expect("a secret").to_owned()
    };
    let made = admin.post("/api/clients", "").await.ok();
    let id = made["client_id"].as_str().expect("a name").to_owned();
    let first = secret_of(&made);
    watch.keep("the secret of a stored client", first.as_str());
    assert!(watch.take(rest, &basic(&id, &first), grant).await.is_some());
    let path = format!("/api/clients/{id}");
    let renewed = admin.put(&format!("{path}/secret"), "").await.ok();
    let second = secret_of(&renewed);
    watch.keep("its second secret", second.as_str());
    for (secret, is_it) in [(&first, false), (&second, true)] {
        let granted = watch.take(rest, &basic(&id, secret), grant).await;
        assert_eq!(granted.is_some(), is_it);
    }
    watch.ask(&admin, "GET", "/api/clients", "").await;
    watch.ask(&admin, "DELETE", &path, "").await;
    watch.ask(&admin, "DELETE", &path, "").await;
}

/// A member that is called and writes with its token, rightly and wrongly; the entity it was
/// called about.
async fn work(watch: &mut Watch, server: &Server, bearer: &str) -> String {
    let metadata = [("authorization", bearer)];
    let connection: Connection = server.connect_as(&metadata).await;
    let member = Member::join_on(server.connect_as(&metadata).await, &[]).await;
    let workflow = processed_by(json!([sync_processor("p", json!({}))]));
    // Refusals are logged at this level.
    let nothing = json!({"requestId": "nothing"});
    connection.call("EventCancelRequest", nothing).await;
    let model = governed_model(&connection, "doc", json!({"n": 1}), workflow).await;
    let create = request(
        "EntityCreateRequest",
        "work",
        new_entity(&model, &json!({"n": 1})),
    );
    let mut answers = connection.begin(create).await;
    let call = member.next().await;
    let token = call.token().to_owned();
    watch.keep_token("the token of a transaction", &token);
    let forged = format!("{token}x");
    let rest = server.rest().with("authorization", bearer);
    for token in [&token, &forged] {
        let joined = member
            .connection
            .call_with(
                "EntityModelGetAllRequest",
                json!({}),
                &[("cyodatxtoken", token)],
            )
            .await;
        watch.hear("an answer to a member", joined.to_string());
        let missing = json!({"entityId": "00000000-0000-0000-0000-000000000000"});
        let missing = member
            .connection
            .call_with("EntityGetRequest", missing, &[("cyodatxtoken", token)])
            .await;
        watch.hear("an answer to a member", missing.to_string());
        let rest = rest.with("x-tx-token", token);
        watch.ask(&rest, "GET", "/api/model/", "").await;
        let nowhere = "/api/entity/00000000-0000-0000-0000-000000000000";
        watch.ask(&rest, "GET", nowhere, "").await;
    }
    member
        .reply(&call, crate::support::Reply::Failure("it will not do"))
        .await;
    let failed = crate::support::payload_of(&answers.recv().await.expect("an answer"));
    watch.hear("a failure", failed.to_string());
    let calls = member.record(|_| crate::support::Reply::Nothing);
    let made = crate::support::create(&connection, &model, json!({"n": 2})).await;
    drop(calls);
    let late = rest.with("x-tx-token", &token);
    watch
        .ask(&late, "GET", &format!("/api/entity/{made}"), "")
        .await;
    made
}
