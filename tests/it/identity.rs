//! Who a token makes the caller, and what is refused of keys, providers and answers (`rest.md` §7,
//! `config-and-cli.md` §9).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rsa::{
    RsaPrivateKey,
    pkcs1::EncodeRsaPrivateKey as _,
    pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, LineEnding},
};
use serde_json::{Value, json};

use crate::support::provider::{FIRST, Provider, SECOND};
use crate::support::token::{KEY, KID, STRANGE_KEY, TAKES_TOKENS, claims_of, seconds, signed};
use crate::support::{
    Member, Reply, Rest, Server, command, create, governed_model, iam, new_entity, payload_of,
    processed_by, request, sync_processor,
};

const TENANT: &str = "7d3c1d3e-0b5f-4a56-9f0a-3a1a6a6f0001";
const PROVIDERS: &str = "/api/oauth/oidc/providers";
const TRUSTED: &str = "/api/oauth/keys/trusted";
const TRUSTED_KEYS: (&str, &str) = ("CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED", "true");
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const EXCHANGE: &str = "grant_type=urn:ietf:params:oauth:grant-type:token-exchange";

/// A server that takes tokens of providers on this machine, and lets tenants trust keys.
fn server() -> Server {
    Server::with(&iam::settings(&[
        ("CYODA_OIDC_REQUIRE_HTTPS", "false"),
        ("CYODA_OIDC_ALLOW_PRIVATE_NETWORKS", "true"),
        TRUSTED_KEYS,
    ]))
}

async fn register(rest: &Rest, provider: &Provider) -> Value {
    let body = json!({"wellKnownConfigUri": provider.well_known()});
    rest.post(PROVIDERS, body.to_string()).await.ok()
}

async fn account(server: &Server, token: &str) -> Value {
    let said = iam::bearing(server, token).get("/api/account").await;
    said.ok()["userAccountInfo"].clone()
}

/// The uniform refusal.
async fn refusal(server: &Server) -> String {
    server.rest().get("/api/account").await.text
}

#[tokio::test]
async fn a_federated_token_older_than_its_provider_is_refused() {
    let (server, provider) = (server(), Provider::start().await);
    let rest = iam::admin(&server, TENANT);
    let registered = register(&rest, &provider).await;
    let issued = |ago: i64| provider.token_with(FIRST, "iat", json!(seconds(-ago)));
    account(&server, &issued(5)).await;
    let old = issued(40);
    let said = iam::bearing(&server, &old).get("/api/account").await;
    assert_eq!(
        (said.status.as_u16(), said.text),
        (401, refusal(&server).await)
    );
    assert!(!iam::is_taken(&server, &old).await);
    // No change of the provider moves when it was registered.
    let path = format!("{PROVIDERS}/{}", iam::text(&registered["id"]));
    rest.send("PATCH", &path, r#"{"rolesClaim":"groups"}"#)
        .await
        .ok();
    rest.post(&format!("{path}/invalidate"), "").await.ok();
    let back = rest.post(&format!("{path}/reactivate"), "").await.ok();
    assert_eq!(back["createdAt"], registered["createdAt"], "{back}");
    account(&server, &issued(5)).await;
    assert!(!iam::is_taken(&server, &issued(40)).await);
}

#[tokio::test]
async fn the_sub_of_a_federated_token_has_bounds() {
    let (server, provider) = (server(), Provider::start().await);
    register(&iam::admin(&server, TENANT), &provider).await;
    let body = refusal(&server).await;
    let longest = "ü".repeat(255);
    for sub in ["a:b|c/d@e f", "oidc:x:y", &longest] {
        let reported = account(&server, &provider.token_with(FIRST, "sub", json!(sub))).await;
        assert_eq!(reported["userName"], sub, "{reported}");
    }
    for sub in [
        json!(format!("{longest}x")),
        json!(""),
        json!(null),
        json!(7),
        json!("a\u{0}"),
        json!("\u{1f}a"),
        json!("a\nb"),
        json!("a\u{7f}b"),
    ] {
        let token = provider.token_with(FIRST, "sub", sub.clone());
        let said = iam::bearing(&server, &token).get("/api/account").await;
        assert_eq!((said.status.as_u16(), &said.text), (401, &body), "{sub}");
    }
}

#[tokio::test]
async fn a_federated_user_cannot_be_taken_for_another() {
    let (server, one, other) = (server(), Provider::start().await, Provider::start().await);
    let rest = iam::admin(&server, TENANT);
    let own = iam::signed(&{
        let mut claims = claims_of(TENANT, &["ROLE_ADMIN"]);
        claims["caas_user_id"] = json!("ann");
        claims
    });
    let mut ids = vec![iam::text(&account(&server, &own).await["userId"])];
    for provider in [&one, &other] {
        let id = iam::text(&register(&rest, provider).await["id"]);
        let reported = account(&server, &provider.token(FIRST)).await;
        assert_eq!(reported["userName"], "ann", "{reported}");
        assert_eq!(reported["userId"], format!("oidc:{id}:ann"), "{reported}");
        ids.push(iam::text(&reported["userId"]));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
    // So it is in the history, and so members receive it.
    let robot = iam::signed(&claims_of(TENANT, &["ROLE_M2M"]));
    let robot = format!("Bearer {robot}");
    let member = server.connect_as(&[("authorization", &robot)]).await;
    let member = Member::join_on(member, &[]).await;
    let mut calls = member.record(|_| Reply::Nothing);
    let bearer = format!("Bearer {}", one.token(FIRST));
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    let work = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), work).await;
    let entity = create(&connection, &model, json!({"n": 1})).await;
    let call = calls.recv().await.expect("a call");
    let user = account(&server, &one.token(FIRST)).await["userId"].clone();
    assert_eq!(call.event.attribute("authid"), user.as_str());
    let changes = rest
        .get(&format!("/api/entity/{entity}/changes"))
        .await
        .ok();
    assert_eq!(changes[0]["user"], user, "{changes}");
}

#[tokio::test]
async fn invalidated_providers_are_left_out_of_the_list_where_asked() {
    let (server, one, other) = (server(), Provider::start().await, Provider::start().await);
    let rest = iam::admin(&server, TENANT);
    let gone = iam::text(&register(&rest, &one).await["id"]);
    let stays = iam::text(&register(&rest, &other).await["id"]);
    rest.post(&format!("{PROVIDERS}/{gone}/invalidate"), "")
        .await
        .ok();
    let reader = iam::signed(&claims_of(TENANT, &["ROLE_READER"]));
    let rest = iam::bearing(&server, &reader);
    let ids = |listed: &Value| -> Vec<String> {
        let listed = listed.as_array().expect("a list").iter();
        listed.map(|one| iam::text(&one["id"])).collect()
    };
    let both = vec![gone.clone(), stays.clone()];
    let active = vec![stays];
    for (query, expected) in [
        ("", &both),
        ("?activeOnly=false", &both),
        ("?activeOnly=0", &both),
        ("?activeOnly=F", &both),
        ("?activeOnly=true", &active),
        ("?activeOnly=1", &active),
        ("?activeOnly=t", &active),
        ("?activeOnly=TRUE", &active),
    ] {
        let listed = rest.get(&format!("{PROVIDERS}{query}")).await.ok();
        assert_eq!(ids(&listed), *expected, "{query}");
    }
    for value in ["yes", "", "2", "tru"] {
        let said = rest.get(&format!("{PROVIDERS}?activeOnly={value}")).await;
        let problem = said.refused(400, "BAD_REQUEST");
        assert_eq!(problem["properties"]["parameter"], "activeOnly", "{value}");
    }
    let bearer = format!("Bearer {reader}");
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    for (asked, expected) in [
        (json!({}), &both),
        (json!({"activeOnly": null}), &both),
        (json!({"activeOnly": false}), &both),
        (json!({"activeOnly": true}), &active),
    ] {
        let listed = connection
            .ok("OidcProvidersGetRequest", asked.clone())
            .await;
        assert_eq!(ids(&listed["providers"]), *expected, "{asked}");
    }
    let asked = json!({"activeOnly": "yes"});
    let code = connection.fails("OidcProvidersGetRequest", asked).await;
    assert_eq!(code, "BAD_REQUEST");
}

#[tokio::test]
async fn mocked_authentication_is_said_before_anything_else_of_a_request() {
    let server = Server::with(&[TRUSTED_KEYS]);
    let provider = format!("{PROVIDERS}/{TENANT}");
    let (pairs, trusted) = ("/api/oauth/keys/keypair", format!("{TRUSTED}/-+"));
    for (method, path) in [
        ("DELETE", "/api/clients/--".to_owned()),
        ("POST", "/api/clients?withAdminRole=perhaps".to_owned()),
        ("POST", pairs.to_owned()),
        ("GET", format!("{pairs}/current")),
        ("POST", format!("{pairs}/k/reactivate")),
        ("POST", TRUSTED.to_owned()),
        ("DELETE", trusted.clone()),
        ("POST", format!("{trusted}/reactivate")),
        ("POST", PROVIDERS.to_owned()),
        ("PATCH", provider),
        ("DELETE", format!("{PROVIDERS}/first")),
        ("GET", format!("{PROVIDERS}?activeOnly=perhaps")),
    ] {
        for body in ["", "{}", "{"] {
            let said = server.rest().send(method, &path, body).await;
            said.refused(501, "NOT_IMPLEMENTED");
        }
    }
    let connection = server.connect().await;
    let refused = connection.fails("KeyPairIssueRequest", json!({})).await;
    assert_eq!(refused, "NOT_IMPLEMENTED");
}

#[tokio::test]
async fn the_signing_key_may_be_the_base64_of_a_pem() {
    let key = RsaPrivateKey::from_pkcs8_pem(KEY).expect("a key");
    let pkcs8 = key.to_pkcs8_pem(LineEnding::LF).expect("PEM").to_string();
    let pkcs1 = key.to_pkcs1_pem(LineEnding::LF).expect("PEM").to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("key");
    let name = file.to_str().expect("a text").to_owned();
    for pem in [&pkcs8, &pkcs1] {
        let line = BASE64_STANDARD.encode(pem);
        let wrapped: Vec<&str> = line.as_bytes().chunks(76).map(text_of).collect();
        let wrapped = format!("\n{}\r\n", wrapped.join("\r\n"));
        for (variable, value) in [
            ("CYODA_JWT_SIGNING_KEY", &line),
            ("INTERLOCK_JWT_SIGNING_KEY", &line),
            ("CYODA_JWT_SIGNING_KEY", &wrapped),
            ("CYODA_JWT_SIGNING_KEY_FILE", &line),
            ("INTERLOCK_JWT_SIGNING_KEY_FILE", &wrapped),
            ("CYODA_JWT_SIGNING_KEY_FILE", pem),
            ("CYODA_JWT_SIGNING_KEY", pem),
        ] {
            let value = if variable.ends_with("_FILE") {
                std::fs::write(&file, value).expect("writable");
                &name
            } else {
                value
            };
            let server = Server::with(&[("CYODA_IAM_MODE", "jwt"), (variable, value)]);
            let token = signed(&claims_of(TENANT, &[]), Some(&KID), KEY);
            account(&server, &token).await;
        }
    }
    let junk = BASE64_STANDARD.encode("no key");
    for value in [junk.as_str(), "?", &BASE64_STANDARD.encode([0xff; 9])] {
        let settings = [("CYODA_IAM_MODE", "jwt"), ("CYODA_JWT_SIGNING_KEY", value)];
        let output = command(folder.path(), &settings).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("PEM") && said.contains("base64"), "{said}");
    }
}

fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("ASCII")
}

#[tokio::test]
async fn a_key_id_that_no_trusted_key_has_is_refused_before_the_body() {
    let acts = |id: &str| {
        [
            ("DELETE", format!("{TRUSTED}/{id}")),
            ("POST", format!("{TRUSTED}/{id}/invalidate")),
            ("POST", format!("{TRUSTED}/{id}/reactivate")),
        ]
    };
    let server = server();
    let rest = iam::admin(&server, TENANT);
    let reader = iam::signed(&claims_of(TENANT, &["ROLE_READER"]));
    let reader = iam::bearing(&server, &reader);
    let long = "x".repeat(129);
    // A body that is not one, and one that is too large to be read.
    let bodies = ["{".to_owned(), "x".repeat((1 << 20) + 1)];
    for id in ["a%20b", "%C3%A4", "a%2Fb", "a%7Eb", long.as_str()] {
        for (method, path) in acts(id) {
            for body in &bodies {
                let said = rest.send(method, &path, body.clone()).await;
                let problem = said.refused(400, "BAD_REQUEST");
                let detail = problem["detail"].as_str().expect("a text");
                assert!(detail.contains("keyId"), "{method} {path}: {detail}");
            }
            // A caller without permission learns nothing.
            reader
                .send(method, &path, "")
                .await
                .refused(403, "FORBIDDEN");
        }
    }
    let longest = "x".repeat(128);
    for (method, path) in acts(&longest) {
        let body = r#"{"validTo": "2999-01-01T00:00:00Z"}"#;
        let body = if path.ends_with("reactivate") {
            body
        } else {
            ""
        };
        let said = rest.send(method, &path, body).await;
        said.refused(404, "TRUSTED_KEY_NOT_FOUND");
    }
    let bearer = format!(
        "Bearer {}",
        iam::signed(&claims_of(TENANT, &["ROLE_ADMIN"]))
    );
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    for (kind, more) in [
        ("TrustedKeyDeleteRequest", json!({"keyId": "a b"})),
        ("TrustedKeyInvalidateRequest", json!({"keyId": "a/b"})),
        (
            "TrustedKeyReactivateRequest",
            json!({"keyId": "", "validTo": "never"}),
        ),
    ] {
        assert_eq!(connection.fails(kind, more).await, "BAD_REQUEST", "{kind}");
    }
    // The settings are asked before the path is.
    let server = Server::with(&TAKES_TOKENS);
    for (method, path) in acts("a%20b") {
        let said = iam::admin(&server, TENANT).send(method, &path, "").await;
        said.refused(404, "FEATURE_DISABLED");
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_exchange_is_an_invalid_grant() {
    let server = server();
    let key = interlock::auth::SigningKey::parse(STRANGE_KEY).expect("a key");
    let jwk: Value = serde_json::from_str(&key.public().jwk()).expect("JSON");
    let body = json!({"keyId": "theirs", "jwk": jwk, "audience": "human"});
    let rest = iam::admin(&server, iam::TENANT);
    rest.post(TRUSTED, body.to_string()).await.ok();
    let subject = |user: &str| {
        let mut claims = claims_of(iam::TENANT, &[]);
        claims["sub"] = json!(user);
        signed(&claims, Some("theirs"), STRANGE_KEY)
    };
    let good = subject("ann");
    let ask = async |secret: &str, more: &str| {
        let rest = server
            .rest()
            .with("authorization", &iam::basic(iam::FIRST.0, secret))
            .with("content-type", "application/x-www-form-urlencoded");
        let body = format!("{EXCHANGE}{more}");
        let said = rest.post("/api/oauth/token", body).await;
        let error = said.json()["error"].as_str().map(str::to_owned);
        (said.status.as_u16(), error)
    };
    let typed = |token: &str| format!("&subject_token={token}&subject_token_type={JWT}");
    assert_eq!(ask(iam::FIRST.1, &typed(&good)).await, (200, None));
    let forged = subject("oidc:7d3c1d3e-0b5f-4a56-9f0a-3a1a6a6f0009:ann");
    for more in [
        String::new(),
        format!("&subject_token={good}"),
        format!("&subject_token={good}&subject_token_type=urn:ietf:params:oauth:token-type:saml2"),
        format!("&subject_token={good}&subject_token_type="),
        format!("&subject_token_type={JWT}"),
        typed(""),
        typed("x.y.z"),
        typed(&forged),
    ] {
        let invalid = (400, Some("invalid_grant".to_owned()));
        assert_eq!(ask(iam::FIRST.1, &more).await, invalid, "{more}");
        // The client is checked first.
        let unknown = (401, Some("invalid_client".to_owned()));
        assert_eq!(ask("wrong", &more).await, unknown, "{more}");
    }
}

/// A token whose header asks for extensions to be understood.
fn critical(claims: &Value, kid: &str, pem: &str) -> String {
    let header = Header {
        kid: Some(kid.to_owned()),
        crit: Some(vec!["exp".to_owned()]),
        ..Header::new(Algorithm::RS256)
    };
    let key = EncodingKey::from_rsa_pem(pem.as_bytes()).expect("a key");
    encode(&header, claims, &key).expect("signed")
}

#[tokio::test]
async fn a_token_whose_header_has_crit_is_refused() {
    let (server, provider) = (server(), Provider::start().await);
    let rest = iam::admin(&server, TENANT);
    register(&rest, &provider).await;
    account(&server, &provider.token(FIRST)).await;
    let federated = critical(&provider.claims(), FIRST.0, FIRST.1);
    assert!(!iam::is_taken(&server, &federated).await, "federated");
    let own = critical(&claims_of(TENANT, &["ROLE_ADMIN"]), &KID, KEY);
    assert!(!iam::is_taken(&server, &own).await, "own");
    let key = interlock::auth::SigningKey::parse(SECOND.1).expect("a key");
    let jwk: Value = serde_json::from_str(&key.public().jwk()).expect("JSON");
    let body = json!({"keyId": "theirs", "jwk": jwk, "audience": "human"});
    let trusting = iam::admin(&server, iam::TENANT);
    trusting.post(TRUSTED, body.to_string()).await.ok();
    let claims = claims_of(iam::TENANT, &[]);
    for (subject, status) in [
        (signed(&claims, Some("theirs"), SECOND.1), 200),
        (critical(&claims, "theirs", SECOND.1), 400),
    ] {
        let body = format!("{EXCHANGE}&subject_token={subject}&subject_token_type={JWT}");
        let rest = server
            .rest()
            .with("authorization", &iam::basic(iam::FIRST.0, iam::FIRST.1))
            .with("content-type", "application/x-www-form-urlencoded");
        let said = rest.post("/api/oauth/token", body).await;
        assert_eq!(said.status.as_u16(), status, "{}", said.text);
    }
}

#[tokio::test]
async fn names_of_this_machine_are_refused_as_places_of_providers() {
    let server = Server::with(&TAKES_TOKENS);
    let rest = iam::admin(&server, TENANT);
    for host in [
        "localhost.",
        "localhost..",
        "LOCALHOST.",
        "foo.localhost",
        "foo.LocalHost.",
        "%6c%6fcalhost",
        "ｌｏｃａｌｈｏｓｔ",
        "localhost.localdomain",
        "printer.local",
        "metadata.google.internal.",
        "router.home.arpa",
        "127.0.0.1.",
        "2130706433.",
        "0x7f.1",
        "0177.0.0.1",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::]",
        "0.0.0.0",
        "127%2e0.0.1",
        "１２７.0.0.1",
    ] {
        let uri = format!("https://{host}/.well-known/openid-configuration");
        let body = json!({"wellKnownConfigUri": uri}).to_string();
        let said = rest.post(PROVIDERS, body).await;
        let problem = said.refused(400, "OIDC_SSRF_BLOCKED");
        let detail = problem["detail"].as_str().expect("a text");
        let names_setting = detail.contains("CYODA_OIDC_ALLOW_PRIVATE_NETWORKS");
        assert!(names_setting, "{host}: {detail}");
    }
    assert_eq!(rest.get(PROVIDERS).await.ok(), json!([]));
}

/// `requestId` says which call is answered; members send any `entityId` (`grpc.md` §9.4).
#[tokio::test]
async fn the_entity_of_an_answer_is_not_checked() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    let work = processed_by(json!([sync_processor("p", json!({}))]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), work).await;
    for about in [
        json!("7d3c1d3e-0b5f-4a56-9f0a-3a1a6a6f0009"),
        json!("00000000-0000-0000-0000-000000000000"),
        json!("nonsense"),
        json!(""),
        json!(7),
        json!(null),
    ] {
        let asked = new_entity(&model, &json!({"n": 1}));
        let asked = request("EntityCreateRequest", &connection.fresh_id(), asked);
        let mut answers = connection.begin(asked).await;
        let call = member.next().await;
        let answer = json!({"requestId": call.payload["requestId"], "entityId": about,
            "success": true, "payload": {"data": {"n": 666}}});
        let id = member.connection.fresh_id();
        let answer = request("EntityProcessorCalculationResponse", &id, answer);
        member.connection.send(answer).await;
        let made = payload_of(&answers.recv().await.expect("an answer"));
        assert_eq!(made["success"], true, "{about}: {made}");
    }
}

#[tokio::test]
async fn an_answer_with_a_member_of_a_wrong_type_fails_its_call_at_once() {
    let server = Server::start();
    let connection = server.connect().await;
    let member = Member::join(&server, &[]).await;
    // Nobody waits for that.
    let config = json!({"responseTimeoutMs": 600_000});
    let work = processed_by(json!([sync_processor("p", config)]));
    let model = governed_model(&connection, "doc", json!({"n": 1}), work).await;
    for wrong in [
        json!({"success": false, "error": {"code": 500, "message": "m"}}),
        json!({"warnings": [1]}),
        json!({"success": "yes"}),
    ] {
        let asked = new_entity(&model, &json!({"n": 1}));
        let asked = request("EntityCreateRequest", &connection.fresh_id(), asked);
        let mut answers = connection.begin(asked).await;
        let call = member.next().await;
        let mut answer = wrong.clone();
        answer["requestId"] = call.payload["requestId"].clone();
        let id = member.connection.fresh_id();
        let answer = request("EntityProcessorCalculationResponse", &id, answer);
        member.connection.send(answer).await;
        let made = payload_of(&answers.recv().await.expect("an answer"));
        let message = made["error"]["message"].as_str().expect("a text");
        assert!(message.starts_with("WORKFLOW_FAILED"), "{wrong}: {message}");
        assert!(message.contains("could not be read"), "{message}");
        // The refusal names the member's answer.
        let reported = payload_of(&member.connection.unasked().await.expect("a refusal"));
        assert_eq!(
            (&reported["success"], &reported["sourceEventId"]),
            (&json!(false), &json!(id))
        );
    }
}
