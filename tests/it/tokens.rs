//! Callers who bear tokens (`config-and-cli.md` §9, `rest.md` §7).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::support::{
    Rest, Said, Server, client, command, request,
    token::{KEY, KID, STRANGE_KEY, claims_of, seconds, signed},
    wait::found,
};

const SETTINGS: &[(&str, &str)] = &[
    ("CYODA_IAM_MODE", "jwt"),
    ("CYODA_JWT_SIGNING_KEY", KEY),
    ("CYODA_BOOTSTRAP_CLIENT_ID", "first"),
    ("CYODA_BOOTSTRAP_CLIENT_SECRET", "s3cret/with:odd+signs"),
    ("CYODA_BOOTSTRAP_TENANT_ID", "acme"),
    ("CYODA_BOOTSTRAP_USER_ID", "boss"),
];

fn server() -> Server {
    Server::with(SETTINGS)
}

fn basic(client: &str, secret: &str) -> String {
    format!(
        "Basic {}",
        BASE64_STANDARD.encode(format!("{client}:{secret}"))
    )
}

async fn ask(rest: &Rest, authorization: &str, body: &str) -> Said {
    rest.with("authorization", authorization)
        .with(
            "content-type",
            "application/x-www-form-urlencoded;charset=UTF-8",
        )
        .send("POST", "/api/oauth/token", body.to_owned())
        .await
}

async fn token(server: &Server) -> String {
    let credentials = basic("first", "s3cret/with:odd+signs");
    let said = ask(
        &server.rest(),
        &credentials,
        "grant_type=client_credentials&scope=any",
    )
    .await;
    assert_eq!(said.headers["cache-control"], "no-store");
    let granted = said.ok();
    assert_eq!(
        (&granted["token_type"], &granted["expires_in"]),
        (&json!("Bearer"), &json!(3_600))
    );
    granted["access_token"]
        .as_str()
        .expect("a token")
        .to_owned()
}

/// Claims that are taken.
fn claims() -> Value {
    claims_of("acme", &["ROLE_ADMIN"])
}

fn with(member: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[member] = value;
    claims
}

fn without(member: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().expect("an object").remove(member);
    claims
}

async fn account(server: &Server, token: &str) -> Said {
    let rest = server
        .rest()
        .with("authorization", &format!("Bearer {token}"));
    rest.get("/api/account").await
}

#[tokio::test]
async fn a_client_gets_a_token_and_is_who_it_says_at_every_door() {
    let server = server();
    let token = token(&server).await;
    let info = account(&server, &token).await.ok()["userAccountInfo"].clone();
    assert_eq!(
        (&info["userId"], &info["legalEntity"]["id"]),
        (&json!("boss"), &json!("acme"))
    );
    let roles: Vec<_> = info["roles"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|role| role["id"].clone())
        .collect();
    assert_eq!(roles, [json!("ROLE_ADMIN"), json!("ROLE_M2M")]);
    // The same bearer on a stream, where it may join as a member.
    let bearer = format!("Bearer {token}");
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    let reported = connection.ok("AccountGetRequest", json!({})).await;
    assert_eq!(
        reported["userAccountInfo"]["legalEntity"]["id"], "acme",
        "{reported}"
    );
    crate::support::locked_model(&connection, "parcel", json!({"a": 1})).await;
    // Service, because a client is no person (§9).
    let rest = server.rest().with("authorization", &bearer);
    let made = rest
        .send("POST", "/api/entity/JSON/parcel/1", r#"{"a":2}"#)
        .await
        .ok();
    let id = made[0]["entityIds"][0].as_str().expect("an id").to_owned();
    let changes = rest.get(&format!("/api/entity/{id}/changes")).await.ok();
    assert_eq!(changes[0]["user"], "boss", "{changes}");
}

/// A channel's credentials and an interceptor may both add a token (`grpc.md` §4).
#[tokio::test]
async fn of_several_tokens_over_grpc_the_first_counts() {
    let server = server();
    let good = format!("Bearer {}", token(&server).await);
    for (given, is_taken) in [
        ([good.as_str(), "Bearer x"], true),
        ([good.as_str(), good.as_str()], true),
        (["Bearer x", good.as_str()], false),
    ] {
        let event = request("AccountGetRequest", "1", json!({}));
        let mut call = tonic::Request::new(event.into());
        for value in given {
            let value = value.parse().expect("a value");
            call.metadata_mut().append("authorization", value);
        }
        let called = client(server.grpc).await.entity_search(call).await;
        assert_eq!(called.is_ok(), is_taken, "{called:?}");
        // Over REST, whose proxies may differ in the one they look at, one is allowed.
        let rest = server.rest();
        let rest = rest.with("authorization", given[0]);
        let rest = rest.with("authorization", given[1]);
        let said = rest.get("/api/account").await;
        said.refused(401, "UNAUTHORIZED");
    }
}

#[tokio::test]
async fn a_pair_is_taken_as_it_is_and_as_forms_write_it() {
    let server = server();
    let rest = server.rest();
    for credentials in [
        basic("first", "s3cret/with:odd+signs"),
        basic("first", "s3cret%2Fwith%3Aodd%2Bsigns"),
    ] {
        ask(&rest, &credentials, "grant_type=client_credentials")
            .await
            .ok();
    }
    let in_body =
        "grant_type=client_credentials&client_id=first&client_secret=s3cret%2Fwith%3Aodd%2Bsigns";
    rest.with("content-type", "application/x-www-form-urlencoded")
        .send("POST", "/api/oauth/token", in_body)
        .await
        .ok();
}

#[tokio::test]
async fn a_refused_token_request_is_counted_and_logged_with_the_client_that_is_known() {
    let server = server();
    let rest = server.rest();
    let grant = "grant_type=client_credentials";
    for (client, secret) in [
        ("a-secret-as-id", "first"),
        ("first", "wr0ng"),
        ("first", "s3cret/with:odd+signs"),
    ] {
        ask(&rest, &basic(client, secret), grant).await;
    }
    let metrics = Rest::new(server.admin).get("/metrics").await.text;
    let counted = r#"interlock_token_refusals_total{reason="invalid_client"} 2"#;
    assert!(metrics.contains(counted), "{metrics}");
    let log = found("both are logged", async || {
        let log = server.logged();
        (log.matches("a token request was refused").count() >= 2).then_some(log)
    });
    let log = log.await;
    let lines = log.lines().filter(|line| line.contains("was refused"));
    let named = lines.filter(|line| line.contains("client.id=\"first\""));
    assert_eq!(named.count(), 1, "{log}");
    for secret in ["a-secret-as-id", "wr0ng"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn listening_on_all_addresses_without_tls_is_warned_of() {
    let is_warned = |server: &Server| server.logged().contains("without TLS");
    assert!(is_warned(&server()));
    // The caller that names the address has decided.
    let named = [SETTINGS, &[("INTERLOCK_BIND_ADDRESS", "127.0.0.1")]].concat();
    assert!(!is_warned(&Server::with(&named)));
}

#[tokio::test]
async fn commands_send_the_token_of_the_settings() {
    let server = server();
    let token = token(&server).await;
    let port = server.grpc.port().to_string();
    let file = server.folder().join("token");
    std::fs::write(&file, format!("{token}\n")).expect("writes");
    let file = file.to_str().expect("UTF-8").to_owned();
    let folder = server.folder();
    let folder = folder.to_str().expect("UTF-8").to_owned();
    let wrong = ["members", "--metadata", "authorization=Bearer wrong"];
    for (name, value, line, expected) in [
        ("INTERLOCK_TOKEN", &token, &["members"][..], Some(0)),
        ("INTERLOCK_TOKEN_FILE", &file, &["members"], Some(0)),
        // What the command itself is given takes precedence.
        ("INTERLOCK_TOKEN", &token, &wrong, Some(1)),
        ("HOME", &folder, &["members"], Some(1)),
    ] {
        let settings = [("CYODA_GRPC_PORT", &*port), (name, &**value)];
        let output = command(&server.folder(), &settings).args(line).output();
        let output = output.expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), expected, "{name} {line:?}: {said}");
        assert!(!said.contains(&*token), "{said}");
        assert_eq!(
            said.contains("set INTERLOCK_TOKEN"),
            expected == Some(1),
            "{said}"
        );
    }
}

#[tokio::test]
async fn who_does_not_know_the_secret_gets_no_token() {
    let server = server();
    let rest = server.rest();
    let grant = "grant_type=client_credentials";
    let good = basic("first", "s3cret/with:odd+signs");
    for (authorization, body, status, word) in [
        (basic("first", "wrong"), grant, 401, "invalid_client"),
        (
            basic("second", "s3cret/with:odd+signs"),
            grant,
            401,
            "invalid_client",
        ),
        (basic("", ""), grant, 401, "invalid_client"),
        ("Basic !".to_owned(), grant, 401, "invalid_client"),
        ("Bearer x".to_owned(), grant, 401, "invalid_client"),
        (
            good.clone(),
            "grant_type=password",
            400,
            "unsupported_grant_type",
        ),
        (good.clone(), "", 400, "invalid_request"),
        (
            good.clone(),
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=x&subject_token_type=urn:ietf:params:oauth:token-type:jwt",
            400,
            "invalid_grant",
        ),
    ] {
        let said = ask(&rest, &authorization, body).await;
        assert_eq!(
            said.status.as_u16(),
            status,
            "{authorization} {body}: {}",
            said.text
        );
        assert_eq!(said.json()["error"], word, "{authorization} {body}");
    }
    let as_json = rest
        .with("authorization", &good)
        .with("content-type", "application/json");
    let said = as_json.send("POST", "/api/oauth/token", "{}").await;
    assert_eq!(
        (said.status.as_u16(), said.json()["error"].clone()),
        (400, json!("invalid_request"))
    );
    let huge = format!("{grant}&scope={}", "x".repeat(16 << 10));
    assert_eq!(ask(&rest, &good, &huge).await.status, 400);
    assert_eq!(rest.get("/api/oauth/token").await.status, 405);
}

#[tokio::test]
async fn who_guesses_too_often_is_not_listened_to() {
    let server = server();
    let rest = server.rest();
    let grant = "grant_type=client_credentials";
    for n in 0..20 {
        let said = ask(&rest, &basic("second", &n.to_string()), grant).await;
        assert_eq!(said.status, 401, "{n}");
    }
    let said = ask(&rest, &basic("second", "21"), grant).await;
    assert_eq!(
        (said.status.as_u16(), said.headers["retry-after"].as_bytes()),
        (429, &b"60"[..])
    );
    // Others are.
    token(&server).await;
}

#[tokio::test]
async fn only_good_tokens_are_taken_and_every_other_one_is_refused_alike() {
    let mut settings = SETTINGS.to_vec();
    settings.push(("CYODA_JWT_AUDIENCE", "interlock"));
    let server = Server::with(&settings);
    let ours = token(&server).await;
    account(&server, &ours).await.ok();
    let kid = KID.clone();
    let good = |claims: &Value| {
        let mut claims = claims.clone();
        if claims.get("aud").is_none() {
            claims["aud"] = json!(["other", "interlock"]);
        }
        signed(&claims, Some(&kid), KEY)
    };
    for taken in [
        good(&claims()),
        good(&with("aud", json!("interlock"))),
        good(&with("nbf", json!(seconds(-1)))),
        // Clocks differ by half a minute.
        good(&with("exp", json!(seconds(-20)))),
        good(&with("iat", json!(seconds(20)))),
        good(&without("caas_user_id")),
    ] {
        for _ in 0..2 {
            account(&server, &taken).await.ok();
        }
    }
    let unsigned = |header: Value| {
        use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
        let part = |json: &Value| BASE64.encode(json.to_string());
        let mut claims = claims();
        claims["aud"] = json!("interlock");
        format!("{}.{}.", part(&header), part(&claims))
    };
    let (body, _) = ours.rsplit_once('.').expect("three parts");
    let mut refused = vec![
        ("expired", good(&with("exp", json!(seconds(-40))))),
        ("no expiry", good(&without("exp"))),
        ("no issue", good(&without("iat"))),
        (
            "issued tomorrow",
            good(&with("iat", json!(seconds(86_400)))),
        ),
        ("not yet", good(&with("nbf", json!(seconds(60))))),
        ("another issuer", good(&with("iss", json!("other")))),
        ("no issuer", good(&without("iss"))),
        ("another audience", good(&with("aud", json!("other")))),
        ("no audience", signed(&claims(), Some(&kid), KEY)),
        ("no tenant", good(&without("caas_org_id"))),
        ("an empty tenant", good(&with("caas_org_id", json!("")))),
        (
            "a tenant that is no text",
            good(&with("caas_org_id", json!(7))),
        ),
        (
            "another key",
            signed(&with("aud", json!("interlock")), Some(&kid), STRANGE_KEY),
        ),
        (
            "an unknown key",
            signed(&with("aud", json!("interlock")), Some("other"), KEY),
        ),
        (
            "no name of a key",
            signed(&with("aud", json!("interlock")), None, KEY),
        ),
        ("no signature", unsigned(json!({"alg": "none", "kid": kid}))),
        ("no algorithm", unsigned(json!({"kid": kid}))),
        ("half of it", body.to_owned()),
        ("nothing", String::new()),
        ("noise", "a.b.c".to_owned()),
        ("too much", "x".repeat(10_000)),
    ];
    // Signed with what everyone can read: the name of the key, as a shared secret.
    let secret = EncodingKey::from_secret(kid.as_bytes());
    let header = Header {
        kid: Some(kid.clone()),
        ..Header::new(Algorithm::HS256)
    };
    refused.push((
        "another algorithm",
        encode(&header, &claims(), &secret).expect("signed"),
    ));
    let mut bodies = std::collections::BTreeSet::new();
    for (what, token) in refused {
        let said = account(&server, &token).await;
        assert_eq!(said.status, 401, "{what}: {}", said.text);
        assert!(!said.headers.contains_key("www-authenticate"));
        bodies.insert(said.text);
        let status = refused_stream(&server, what, &token).await;
        assert_eq!(
            (status.code(), status.message()),
            (tonic::Code::Unauthenticated, "authentication failed"),
            "{what}"
        );
    }
    assert_eq!(server.rest().get("/api/account").await.status, 401);
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}

/// What a call and a stream with a bad token end with; both the same.
async fn refused_stream(server: &Server, what: &str, token: &str) -> tonic::Status {
    let mut grpc = client(server.grpc).await;
    let bearer: tonic::metadata::MetadataValue<_> =
        format!("Bearer {token}").parse().expect("text");
    let mut call = tonic::Request::new(request("AccountGetRequest", "1", json!({})).into());
    call.metadata_mut().insert("authorization", bearer.clone());
    let unary = grpc.entity_model_manage(call).await.expect_err(what);
    let mut open = tonic::Request::new(tokio_stream::pending::<interlock::event::frame::Frame>());
    open.metadata_mut().insert("authorization", bearer);
    let stream = grpc.start_streaming(open).await.expect_err(what);
    assert_eq!(
        (unary.code(), unary.message()),
        (stream.code(), stream.message())
    );
    unary
}

#[tokio::test]
async fn everyone_may_know_the_keys_and_they_check_tokens() {
    let server = server();
    let keys = server.rest().get("/api/.well-known/jwks.json").await.ok();
    let [key] = keys["keys"].as_array().expect("a list").as_slice() else {
        panic!("{keys}")
    };
    assert_eq!(
        (&key["kid"], &key["alg"], &key["use"]),
        (&json!(*KID), &json!("RS256"), &json!("sig"))
    );
    let key = jsonwebtoken::DecodingKey::from_rsa_components(
        key["n"].as_str().expect("a modulus"),
        key["e"].as_str().expect("an exponent"),
    )
    .expect("a key");
    let mut rules = jsonwebtoken::Validation::new(Algorithm::RS256);
    rules.set_issuer(&["cyoda"]);
    let token = jsonwebtoken::decode::<Value>(token(&server).await, &key, &rules)
        .expect("is ours")
        .claims;
    assert_eq!(
        (
            &token["sub"],
            &token["caas_user_id"],
            &token["caas_org_id"],
            &token["caas_tier"]
        ),
        (
            &json!("first"),
            &json!("boss"),
            &json!("acme"),
            &json!("unlimited")
        )
    );
    assert_eq!(token["scopes"], json!(["ROLE_ADMIN", "ROLE_M2M"]));
    assert!(token["jti"].is_string() && token.get("user_roles").is_none());
}

#[tokio::test]
async fn a_token_without_the_role_may_not() {
    let server = server();
    let token = signed(&with("user_roles", json!(["ROLE_READER"])), Some(&KID), KEY);
    let rest = server
        .rest()
        .with("authorization", &format!("Bearer {token}"));
    rest.get("/api/account").await.ok();
    rest.get("/api/admin/log-level")
        .await
        .refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn a_tenant_does_not_see_what_is_anothers() {
    let server = server();
    let bearer = |tenant: &str| {
        let token = signed(&with("caas_org_id", json!(tenant)), Some(&KID), KEY);
        format!("Bearer {token}")
    };
    let (one, other) = (bearer("one"), bearer("other"));
    let (one, other) = (
        server.connect_as(&[("authorization", &one)]).await,
        server.connect_as(&[("authorization", &other)]).await,
    );
    let model = crate::support::locked_model(&one, "parcel", json!({"a": 1})).await;
    let id = crate::support::create(&one, &model, json!({"a": 2})).await;
    crate::support::get(&one, &id).await;
    let code = other
        .fails("EntityGetRequest", json!({"entityId": id}))
        .await;
    assert_eq!(code, "ENTITY_NOT_FOUND");
}

#[tokio::test]
async fn mocked_it_gives_a_token_for_anything_and_has_no_keys() {
    let server = Server::start();
    let said = ask(
        &server.rest(),
        &basic("any", "thing"),
        "grant_type=client_credentials",
    )
    .await;
    let token = said.ok()["access_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    let info = account(&server, &token).await.ok();
    assert_eq!(info["userAccountInfo"]["userId"], "mock-user-001");
    server
        .rest()
        .get("/api/.well-known/jwks.json")
        .await
        .refused(404, "NOT_FOUND");
}

#[test]
fn what_cannot_be_is_reported_at_start_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let jwt = ("CYODA_IAM_MODE", "jwt");
    for (settings, says) in [
        (&[jwt][..], "openssl genpkey"),
        (
            &[jwt, ("CYODA_JWT_SIGNING_KEY", "x")][..],
            "not an RSA private key in PEM (PKCS #8 or PKCS #1), nor the base64 of one",
        ),
        (
            &[
                jwt,
                ("CYODA_JWT_SIGNING_KEY", include_str!("../keys/short.pem")),
            ][..],
            "1024 bits",
        ),
        (&[("CYODA_REQUIRE_JWT", "true")][..], "CYODA_IAM_MODE=jwt"),
        (
            &[
                jwt,
                ("CYODA_JWT_SIGNING_KEY", KEY),
                ("INTERLOCK_IAM_MOCK_CALLER", "true"),
            ][..],
            "choose their identity",
        ),
        (
            &[("CYODA_IAM_MODE", ""), ("CYODA_JWT_SIGNING_KEY", KEY)][..],
            "CYODA_IAM_MODE is empty",
        ),
        (
            &[
                ("CYODA_IAM_MODE", ""),
                ("CYODA_BOOTSTRAP_CLIENT_ID", "first"),
                ("CYODA_BOOTSTRAP_CLIENT_SECRET", "s3cret"),
            ][..],
            "CYODA_IAM_MODE is empty",
        ),
        (
            &[("CYODA_BOOTSTRAP_ROLES", "ROLE_ADMIN ROLE_M2M")][..],
            "separate roles by commas",
        ),
    ] {
        let output = command(folder.path(), settings).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{says}: {said}");
        assert!(said.contains(says), "{says}: {said}");
        assert!(!said.contains("PRIVATE KEY"), "{said}");
    }
}
