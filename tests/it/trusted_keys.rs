//! Keys that tenants trust, and tokens in exchange for those that they have signed (`rest.md` §7).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use interlock::auth::SigningKey;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rsa::pkcs8::{DecodePrivateKey as _, EncodePublicKey as _};
use serde_json::{Value, json};

use crate::support::{
    Rest, Said, Server, command, iam,
    token::{KEY, KID, STRANGE_KEY, claims_of, seconds, signed},
};

const PATH: &str = "/api/oauth/keys/trusted";

const ON: (&str, &str) = ("CYODA_IAM_TRUSTED_KEY_REGISTRATION_ENABLED", "true");

const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// The trusted key of most tests, which is [`STRANGE_KEY`].
const NAME: &str = "idp-1";

fn server() -> Server {
    Server::with(&iam::settings(&[ON]))
}

fn jwk(pem: &str) -> Value {
    let key = SigningKey::parse(pem).expect("a key");
    let jwk: Value = serde_json::from_str(&key.public().jwk()).expect("JSON");
    json!({"kty": "RSA", "n": jwk["n"], "e": jwk["e"]})
}

/// What is said to have a key trusted.
fn wanted(name: &str, more: Value) -> Value {
    let mut body = json!({"keyId": name, "jwk": jwk(STRANGE_KEY), "audience": "human"});
    let more = more.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(more);
    body
}

async fn register(rest: &Rest, name: &str, more: Value) -> Said {
    rest.post(PATH, wanted(name, more).to_string()).await
}

async fn registered(rest: &Rest, name: &str) -> Value {
    register(rest, name, json!({})).await.ok()
}

/// The names of the keys that a tenant trusts, and whether they are active.
async fn listed(rest: &Rest) -> Vec<(String, bool)> {
    let listed = rest.get(PATH).await.ok();
    let keys = listed.as_array().expect("a list").iter();
    keys.map(|key| (iam::text(&key["keyId"]), key["active"] == true))
        .collect()
}

/// Has something done to a key of which nothing is said.
async fn done(rest: &Rest, method: &str, path: &str, body: &str) {
    let said = rest
        .send(method, &format!("{PATH}/{path}"), body.to_owned())
        .await;
    assert_eq!(
        (said.status.as_u16(), said.text.as_str()),
        (200, ""),
        "{path}"
    );
}

/// What the other issuer says of a person of that tenant.
fn subject(tenant: &str) -> Value {
    json!({"sub": "alice", "iss": "https://idp.example", "aud": "another", "caas_org_id": tenant,
        "user_roles": ["ROLE_READER"], "iat": seconds(0), "exp": seconds(600)})
}

/// The same with another member, or without one.
fn with(member: &str, value: Value) -> Value {
    let mut claims = subject(iam::TENANT);
    if value.is_null() {
        claims.as_object_mut().expect("an object").remove(member);
    } else {
        claims[member] = value;
    }
    claims
}

/// That, signed with the trusted key.
fn theirs(claims: &Value) -> String {
    signed(claims, Some(NAME), STRANGE_KEY)
}

async fn exchange_as(rest: &Rest, (client, secret): (&str, &str), subject: &str) -> Said {
    let body = format!(
        "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token={subject}&subject_token_type={JWT}"
    );
    rest.with("authorization", &iam::basic(client, secret))
        .with("content-type", "application/x-www-form-urlencoded")
        .post("/api/oauth/token", body)
        .await
}

/// The client of the settings has a token exchanged.
async fn exchange(server: &Server, subject: &str) -> Said {
    exchange_as(&server.rest(), iam::FIRST, subject).await
}

async fn exchanged(server: &Server, subject: &str) -> String {
    iam::text(&exchange(server, subject).await.ok()["access_token"])
}

/// What is said to whoever brings a token that is not trusted.
fn untrusted(said: &Said) {
    assert_eq!(said.status.as_u16(), 400, "{}", said.text);
    assert_eq!(
        said.json(),
        json!({"error": "invalid_grant", "error_description": "the subject_token is not trusted"})
    );
}

#[tokio::test]
async fn a_client_acts_for_who_a_trusted_key_has_named() {
    let server = server();
    let rest = iam::admin(&server, iam::TENANT);
    let key = registered(&rest, NAME).await;
    assert_eq!(
        key,
        json!({"keyId": NAME, "legalEntityId": iam::TENANT, "jwk": jwk(STRANGE_KEY),
            "audience": "human", "active": true, "validFrom": key["validFrom"],
            "validTo": key["validTo"]})
    );
    let time = |member: &str| {
        let text = key[member].as_str().expect("a text");
        chrono::DateTime::parse_from_rfc3339(text).expect("a time")
    };
    assert_eq!((time("validTo") - time("validFrom")).num_days(), 365);

    let brought = theirs(&subject(iam::TENANT));
    assert!(
        !iam::is_taken(&server, &brought).await,
        "it is none of ours"
    );
    let said = exchange(&server, &brought).await;
    let granted = said.ok();
    assert_eq!(said.headers["cache-control"], "no-store");
    assert_eq!(
        (&granted["token_type"], &granted["issued_token_type"]),
        (
            &json!("Bearer"),
            &json!("urn:ietf:params:oauth:token-type:access_token")
        )
    );
    // No longer than what it was exchanged for.
    let life = granted["expires_in"].as_i64().expect("a number");
    assert!((500..=600).contains(&life), "{life}");
    let token = iam::text(&granted["access_token"]);
    let (claims, kid) = iam::claims(&token);
    assert_eq!(kid, *KID);
    let brought = iam::claims(&brought).0;
    assert_eq!(
        claims,
        json!({"sub": "alice", "iss": "cyoda", "caas_user_id": "alice", "caas_org_id": iam::TENANT,
            "user_roles": ["ROLE_READER"], "caas_tier": "unlimited", "act": {"sub": iam::FIRST.0}, "subject_key": NAME,
            "subject_key_registered": claims["subject_key_registered"],
            "exp": brought["exp"], "iat": claims["iat"], "jti": claims["jti"]})
    );
    assert!(iam::is_taken(&server, &token).await);
    let alice = iam::bearing(&server, &token);
    let account = alice.get("/api/account").await.ok();
    let account = &account["userAccountInfo"];
    assert_eq!(
        (
            &account["userId"],
            &account["legalEntity"]["id"],
            &account["roles"]
        ),
        (
            &json!("alice"),
            &json!(iam::TENANT),
            &json!([{"id": "ROLE_READER"}])
        )
    );
    // She has her roles, and not those of the client.
    alice.get("/api/clients").await.refused(403, "FORBIDDEN");
    let admin = theirs(&with("user_roles", json!(["ROLE_ADMIN"])));
    let admin = exchanged(&server, &admin).await;
    iam::bearing(&server, &admin).get("/api/clients").await.ok();
    let mut scoped = with("user_roles", Value::Null);
    scoped["scopes"] = json!(["ROLE_ADMIN"]);
    let scoped = exchanged(&server, &theirs(&scoped)).await;
    let scoped = iam::bearing(&server, &scoped);
    let account = scoped.get("/api/account").await.ok();
    assert_eq!(account["userAccountInfo"]["roles"], json!([]));
    scoped.get("/api/clients").await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn clocks_may_differ_and_nothing_else() {
    let server = server();
    let rest = iam::admin(&server, iam::TENANT);
    register(
        &rest,
        NAME,
        json!({"issuers": ["https://idp.example", "b"]}),
    )
    .await
    .ok();
    let mut timeless = with("iat", Value::Null);
    timeless["nbf"] = json!(seconds(20));
    for claims in [
        subject(iam::TENANT),
        with("iss", json!("b")),
        with("iat", json!(seconds(20))),
        with("exp", json!(seconds(1_000_000))),
        timeless,
    ] {
        let granted = exchange(&server, &theirs(&claims)).await.ok();
        let life = granted["expires_in"].as_i64().expect("a number");
        assert!((1..=3_600).contains(&life), "{life}");
        let token = iam::text(&granted["access_token"]);
        assert!(iam::is_taken(&server, &token).await, "{claims}");
        assert!(iam::claims(&token).0["exp"].as_i64() <= claims["exp"].as_i64());
    }

    let good = subject(iam::TENANT);
    let part = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    let none = json!({"alg": "none", "typ": "JWT", "kid": NAME});
    let header = |algorithm| Header {
        kid: Some(NAME.to_owned()),
        ..Header::new(algorithm)
    };
    let public = rsa::RsaPrivateKey::from_pkcs8_pem(STRANGE_KEY).expect("a key");
    let public = public
        .to_public_key()
        .to_public_key_pem(rsa::pkcs8::LineEnding::LF);
    let shared = EncodingKey::from_secret(public.expect("a key").as_bytes());
    let private = EncodingKey::from_rsa_pem(STRANGE_KEY.as_bytes()).expect("a key");
    let unsigned = format!("{}.{}.", part(&none), part(&good));
    let (_, signature) = theirs(&good).rsplit_once('.').map_or_else(
        || panic!("three parts"),
        |(body, signature)| (body.to_owned(), signature.to_owned()),
    );
    let other = iam::admin(&server, "other");
    registered(&other, "idp-2").await;
    let all = [
        ("garbage", "garbage".to_owned()),
        ("alg:none", unsigned.clone()),
        (
            "alg:none with a signature",
            format!("{unsigned}{signature}"),
        ),
        (
            "HS256 with the public key",
            encode(&header(Algorithm::HS256), &good, &shared).expect("signed"),
        ),
        (
            "RS512",
            encode(&header(Algorithm::RS512), &good, &private).expect("signed"),
        ),
        (
            "PS256",
            encode(&header(Algorithm::PS256), &good, &private).expect("signed"),
        ),
        ("another key", signed(&good, Some(NAME), KEY)),
        ("unknown kid", signed(&good, Some("unknown"), STRANGE_KEY)),
        ("no kid", signed(&good, None, STRANGE_KEY)),
        (
            "another tenant's key",
            signed(&good, Some("idp-2"), STRANGE_KEY),
        ),
        (
            "our key",
            iam::signed(&claims_of(iam::TENANT, &["ROLE_ADMIN"])),
        ),
        (
            "wrong issuer",
            theirs(&with("iss", json!("https://evil.example"))),
        ),
        ("no issuer", theirs(&with("iss", Value::Null))),
        ("issuers", theirs(&with("iss", json!(["b"])))),
        ("expired", theirs(&with("exp", json!(seconds(-40))))),
        ("just expired", theirs(&with("exp", json!(seconds(-1))))),
        ("no end", theirs(&with("exp", Value::Null))),
        ("not yet", theirs(&with("nbf", json!(seconds(60))))),
        ("from the future", theirs(&with("iat", json!(seconds(60))))),
        ("no subject", theirs(&with("sub", Value::Null))),
        ("empty subject", theirs(&with("sub", json!("")))),
        ("long subject", theirs(&with("sub", json!("x".repeat(513))))),
        ("two lines", theirs(&with("sub", json!("a\nb")))),
        ("no text", theirs(&with("sub", json!(1)))),
        ("no list", theirs(&with("user_roles", json!("ROLE_ADMIN")))),
        ("large", theirs(&with("more", json!("x".repeat(8 << 10))))),
        // That of another tenant, and untrusted besides: the answer reports only that.
        (
            "both",
            theirs(&{
                let mut claims = subject("other");
                claims["exp"] = json!(seconds(-40));
                claims
            }),
        ),
    ];
    for (what, token) in &all {
        let said = exchange(&server, token).await;
        assert_eq!(said.status.as_u16(), 400, "{what}: {}", said.text);
        untrusted(&said);
    }
    for tenant in [json!("other"), json!(""), json!("ACME"), Value::Null] {
        let said = exchange(&server, &theirs(&with("caas_org_id", tenant))).await;
        assert_eq!(said.status.as_u16(), 403, "{}", said.text);
        assert_eq!(said.json()["error"], "access_denied");
    }
}

#[tokio::test]
async fn who_exchanges_is_a_client_and_says_what() {
    let server = server();
    registered(&iam::admin(&server, iam::TENANT), NAME).await;
    let good = theirs(&subject(iam::TENANT));
    for pair in [
        (iam::FIRST.0, "wrong"),
        ("0123456789ABCDEF", iam::FIRST.1),
        ("", ""),
    ] {
        let said = exchange_as(&server.rest(), pair, &good).await;
        assert_eq!(
            (said.status.as_u16(), &said.json()["error"]),
            (401, &json!("invalid_client"))
        );
    }
    let rest = server
        .rest()
        .with("authorization", &iam::basic(iam::FIRST.0, iam::FIRST.1))
        .with("content-type", "application/x-www-form-urlencoded");
    let grant = "grant_type=urn:ietf:params:oauth:grant-type:token-exchange";
    for more in [
        String::new(),
        format!("&subject_token={good}"),
        format!("&subject_token_type={JWT}"),
        format!("&subject_token=&subject_token_type={JWT}"),
        format!("&subject_token={good}&subject_token_type=urn:ietf:params:oauth:token-type:saml2"),
    ] {
        let said = rest
            .post("/api/oauth/token", format!("{grant}{more}"))
            .await;
        assert_eq!(
            (said.status.as_u16(), &said.json()["error"]),
            (400, &json!("invalid_grant")),
            "{more}"
        );
    }
}

#[tokio::test]
async fn what_a_client_has_exchanged_goes_with_the_client() {
    let server = server();
    let rest = iam::admin(&server, iam::TENANT);
    registered(&rest, NAME).await;
    let made = rest.post("/api/clients", "").await.ok();
    let (id, secret) = (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    );
    let brought = theirs(&subject(iam::TENANT));
    let exchanged = async |secret: &str| {
        let said = exchange_as(&server.rest(), (&id, secret), &brought).await;
        iam::text(&said.ok()["access_token"])
    };
    let first = exchanged(&secret).await;
    assert_eq!(iam::claims(&first).0["act"], json!({"sub": id}));
    assert!(iam::is_taken(&server, &first).await);
    let renewed = rest
        .put(&format!("/api/clients/{id}/secret"), "")
        .await
        .ok();
    assert!(!iam::is_taken(&server, &first).await);
    let second = exchanged(&iam::text(&renewed["client_secret"])).await;
    assert!(iam::is_taken(&server, &second).await);
    rest.delete(&format!("/api/clients/{id}")).await.ok();
    assert!(!iam::is_taken(&server, &second).await);
}

#[tokio::test]
async fn a_key_is_trusted_for_as_long_as_the_tenant_says() {
    let server = server();
    let rest = iam::admin(&server, iam::TENANT);
    registered(&rest, NAME).await;
    let brought = theirs(&subject(iam::TENANT));
    let before = exchanged(&server, &brought).await;

    done(&rest, "POST", &format!("{NAME}/invalidate"), "").await;
    untrusted(&exchange(&server, &brought).await);
    assert_eq!(listed(&rest).await, [(NAME.to_owned(), false)]);
    // What was exchanged goes with it.
    assert!(!iam::is_taken(&server, &before).await);

    let path = format!("{PATH}/{NAME}/reactivate");
    let validity = r#"{"validTo": "9999-01-01T00:00:00Z"}"#;
    let back = rest.post(&path, validity).await.ok();
    assert_eq!(
        (&back["keyId"], &back["active"], &back["validTo"]),
        (&json!(NAME), &json!(true), &json!("9999-01-01T00:00:00Z"))
    );
    assert!(iam::is_taken(&server, &before).await);
    assert_eq!(rest.get(PATH).await.ok(), json!([back]));
    exchanged(&server, &brought).await;

    // With grace it ends by itself, and it is said when.
    let grace = r#"{"gracePeriodSec": 3600}"#;
    done(&rest, "POST", &format!("{NAME}/invalidate"), grace).await;
    exchanged(&server, &brought).await;
    assert_eq!(listed(&rest).await, [(NAME.to_owned(), false)]);
    let grace = r#"{"gracePeriodSec": 1}"#;
    done(&rest, "POST", &format!("{NAME}/invalidate"), grace).await;
    while exchange(&server, &brought).await.status == 200 {}
    untrusted(&exchange(&server, &brought).await);

    // Not before its time, and not after it is deleted.
    let later = r#"{"validFrom": "2999-01-01T00:00:00Z", "validTo": "2999-01-02T00:00:00Z"}"#;
    rest.post(&path, later).await.ok();
    untrusted(&exchange(&server, &brought).await);
    // Who registers it again replaces it.
    registered(&rest, NAME).await;
    exchanged(&server, &brought).await;
    register(&rest, NAME, json!({"jwk": jwk(KEY)})).await.ok();
    untrusted(&exchange(&server, &brought).await);
    exchanged(&server, &signed(&subject(iam::TENANT), Some(NAME), KEY)).await;
    registered(&rest, NAME).await;
    done(&rest, "DELETE", NAME, "").await;
    untrusted(&exchange(&server, &brought).await);
    assert_eq!(listed(&rest).await, []);
    let gone = rest.delete(&format!("{PATH}/{NAME}")).await;
    gone.refused(404, "TRUSTED_KEY_NOT_FOUND");
    assert!(!iam::is_taken(&server, &before).await);
}

#[tokio::test]
async fn what_is_exchanged_lives_no_longer_than_the_key() {
    let server = server();
    let soon = chrono::DateTime::from_timestamp(seconds(100), 0).expect("a time");
    let more = json!({"validTo": soon.to_rfc3339()});
    register(&iam::admin(&server, iam::TENANT), NAME, more)
        .await
        .ok();
    let granted = exchange(&server, &theirs(&subject(iam::TENANT))).await.ok();
    let life = granted["expires_in"].as_i64().expect("a number");
    assert!((1..=100).contains(&life), "{granted}");
    let (claims, _) = iam::claims(&iam::text(&granted["access_token"]));
    let ends = claims["exp"].as_i64().expect("a number");
    assert!(ends <= soon.timestamp(), "{claims}");
}

#[tokio::test]
async fn what_was_exchanged_goes_with_the_key_even_if_another_takes_its_place_at_once() {
    let server = server();
    let rest = iam::admin(&server, iam::TENANT);
    // Likely within one second.
    for _ in 0..3 {
        registered(&rest, NAME).await;
        let token = exchanged(&server, &theirs(&subject(iam::TENANT))).await;
        registered(&rest, NAME).await;
        assert!(!iam::is_taken(&server, &token).await);
    }
}

#[tokio::test]
async fn a_key_takes_the_place_of_those_before_it() {
    let server = server();
    let (rest, other) = (
        iam::admin(&server, iam::TENANT),
        iam::admin(&server, "other"),
    );
    registered(&other, "others").await;
    registered(&rest, NAME).await;
    register(&rest, "robots", json!({"audience": "client"}))
        .await
        .ok();
    let previous = json!({"invalidatePrevious": true, "invalidateGracePeriodSec": 3_600});
    register(&rest, "second", previous).await.ok();
    let states = [(NAME, false), ("robots", true), ("second", true)];
    assert_eq!(
        listed(&rest).await,
        states.map(|(name, is)| (name.to_owned(), is))
    );
    let brought = theirs(&subject(iam::TENANT));
    exchanged(&server, &brought).await;
    let by_second = signed(&subject(iam::TENANT), Some("second"), STRANGE_KEY);
    exchanged(&server, &by_second).await;
    register(&rest, "third", json!({"invalidatePrevious": true}))
        .await
        .ok();
    untrusted(&exchange(&server, &by_second).await);
    // The grace that one has got is its own.
    exchanged(&server, &brought).await;
    assert_eq!(listed(&other).await, [("others".to_owned(), true)]);
}

#[tokio::test]
async fn the_tenants_own_pair_for_that_audience_signs() {
    let server = server();
    let rest = iam::admin(&server, iam::TENANT);
    registered(&rest, NAME).await;
    register(&rest, "robots", json!({"audience": "client"}))
        .await
        .ok();
    let pair = json!({"algorithm": "RS256", "audience": "human"});
    let pair = rest.post("/api/oauth/keys/keypair", pair.to_string()).await;
    let pair = iam::text(&pair.ok()["keyId"]);
    let claims = subject(iam::TENANT);
    for (name, kid) in [(NAME, &pair), ("robots", &*KID)] {
        let token = exchanged(&server, &signed(&claims, Some(name), STRANGE_KEY)).await;
        assert_eq!(iam::claims(&token).1, *kid);
        assert!(iam::is_taken(&server, &token).await);
    }
}

#[tokio::test]
async fn keys_outlive_the_process_as_they_were() {
    let mut server = Server::on_disk(&iam::settings(&[ON]));
    let rest = iam::admin(&server, iam::TENANT);
    register(&rest, NAME, json!({"issuers": ["https://idp.example"]}))
        .await
        .ok();
    registered(&rest, "invalid").await;
    done(&rest, "POST", "invalid/invalidate", "{}").await;
    registered(&rest, "deleted").await;
    done(&rest, "DELETE", "deleted", "").await;
    let (keys, brought) = (rest.get(PATH).await.ok(), theirs(&subject(iam::TENANT)));
    let before = exchanged(&server, &brought).await;
    server.kill();
    server.restart();

    let rest = iam::admin(&server, iam::TENANT);
    assert_eq!(rest.get(PATH).await.ok(), keys);
    assert!(iam::is_taken(&server, &before).await);
    exchanged(&server, &brought).await;
    untrusted(&exchange(&server, &theirs(&with("iss", json!("b")))).await);
    for name in ["invalid", "deleted"] {
        let brought = signed(&subject(iam::TENANT), Some(name), STRANGE_KEY);
        untrusted(&exchange(&server, &brought).await);
    }
    // What is trusted stays so where no more can be said of it.
    server.kill();
    server.restart_with(iam::SETTINGS);
    exchanged(&server, &brought).await;
    let off = iam::admin(&server, iam::TENANT).get(PATH).await;
    off.refused(404, "FEATURE_DISABLED");
}

#[tokio::test]
async fn a_tenant_knows_nothing_of_the_keys_of_others() {
    let server = server();
    let (one, other) = (
        iam::admin(&server, iam::TENANT),
        iam::admin(&server, "other"),
    );
    registered(&one, NAME).await;
    assert_eq!(listed(&other).await, []);
    let validity = r#"{"validTo": "2999-01-01T00:00:00Z"}"#;
    for (method, action, body) in [
        ("DELETE", "", ""),
        ("POST", "/invalidate", ""),
        ("POST", "/reactivate", validity),
    ] {
        let known = other
            .send(method, &format!("{PATH}/{NAME}{action}"), body)
            .await;
        let unknown = other
            .send(method, &format!("{PATH}/none{action}"), body)
            .await;
        known.refused(404, "TRUSTED_KEY_NOT_FOUND");
        assert_eq!(known.text.replace(NAME, "none"), unknown.text);
    }
    // A name is one key's, no matter who asks: the answer says only that.
    let taken = register(&other, NAME, json!({})).await;
    taken.refused(409, "KEY_OWNED_BY_DIFFERENT_TENANT");
    assert_eq!(listed(&one).await, [(NAME.to_owned(), true)]);
    exchanged(&server, &theirs(&subject(iam::TENANT))).await;
    // The clients of the other can exchange nothing that it has signed.
    let made = other.post("/api/clients", "").await.ok();
    let pair = (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    );
    for tenant in ["other", iam::TENANT] {
        let brought = theirs(&subject(tenant));
        untrusted(&exchange_as(&server.rest(), (&pair.0, &pair.1), &brought).await);
    }
    done(&one, "DELETE", NAME, "").await;
    registered(&other, NAME).await;
}

#[tokio::test]
async fn a_tenant_trusts_so_many_keys_as_the_settings_say() {
    let max = ("CYODA_IAM_TRUSTED_KEY_MAX_PER_TENANT", "2");
    let life = ("CYODA_IAM_TRUSTED_KEY_MAX_VALIDITY_DAYS", "2");
    let server = Server::with(&iam::settings(&[ON, max, life]));
    let rest = iam::admin(&server, iam::TENANT);
    let later = json!({"validFrom": "2999-01-01T00:00:00Z"});
    let later = register(&rest, "a", later).await.ok();
    assert_eq!(later["validTo"], "2999-01-03T00:00:00Z");
    registered(&rest, "b").await;
    register(&rest, "c", json!({}))
        .await
        .refused(400, "TRUSTED_KEY_CAP_REACHED");
    // One that takes the place of another needs no room, and others have their own.
    registered(&rest, "b").await;
    registered(&iam::admin(&server, "other"), "c").await;
    done(&rest, "DELETE", "a", "").await;
    registered(&rest, "d").await;

    let any = ("CYODA_IAM_TRUSTED_KEY_MAX_PER_TENANT", "0");
    let server = Server::with(&iam::settings(&[ON, any]));
    let rest = iam::admin(&server, iam::TENANT);
    for n in 0..12 {
        registered(&rest, &n.to_string()).await;
    }
}

#[tokio::test]
async fn keys_live_by_events_as_by_paths() {
    let server = server();
    let token = iam::token(&server.rest(), iam::FIRST.0, iam::FIRST.1).await;
    let bearer = format!("Bearer {token}");
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    let more = json!({"issuers": ["https://idp.example"], "audience": "client"});
    let key = connection
        .ok("TrustedKeyRegisterRequest", wanted(NAME, more))
        .await;
    let reported = connection.ok("TrustedKeysGetRequest", json!({})).await;
    let reported = &reported["trustedKeys"][0];
    assert_eq!(
        (
            &reported["issuers"],
            &reported["audience"],
            &reported["legalEntityId"]
        ),
        (
            &json!(["https://idp.example"]),
            &json!("client"),
            &json!(iam::TENANT)
        )
    );
    for (member, value) in reported.as_object().expect("an object") {
        assert_eq!(key[member], *value, "{member}");
    }
    let one = json!({"keyId": NAME});
    connection
        .ok("TrustedKeyInvalidateRequest", one.clone())
        .await;
    let again = json!({"keyId": NAME, "validFrom": "2020-01-01T00:00:00Z", "validTo": "2999-01-01T00:00:00Z"});
    let back = connection.ok("TrustedKeyReactivateRequest", again).await;
    assert_eq!(
        (&back["validFrom"], &back["validTo"], &back["active"]),
        (
            &json!("2020-01-01T00:00:00Z"),
            &json!("2999-01-01T00:00:00Z"),
            &json!(true)
        )
    );
    exchanged(&server, &theirs(&subject(iam::TENANT))).await;
    connection.ok("TrustedKeyDeleteRequest", one.clone()).await;
    let gone = connection.fails("TrustedKeyDeleteRequest", one).await;
    assert_eq!(gone, "TRUSTED_KEY_NOT_FOUND");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let few = ("CYODA_IAM_TRUSTED_KEY_MAX_JWK_PROPERTIES", "4");
    let server = Server::with(&iam::settings(&[ON, few]));
    let rest = iam::admin(&server, iam::TENANT);
    let key = |member: &str, value: Value| {
        let mut jwk = jwk(STRANGE_KEY);
        jwk[member] = value;
        json!({"jwk": jwk})
    };
    let short = rsa::RsaPrivateKey::from_pkcs8_pem(include_str!("../keys/short.pem"));
    let short = rsa::traits::PublicKeyParts::n(&short.expect("a key")).to_bytes_be();
    for (more, code) in [
        (key("kty", json!("EC")), "UNSUPPORTED_KEY_TYPE"),
        (key("kty", json!("oct")), "UNSUPPORTED_KEY_TYPE"),
        (json!({"jwk": {}}), "UNSUPPORTED_KEY_TYPE"),
        (key("alg", json!("HS256")), "UNSUPPORTED_ALGORITHM"),
        (key("use", json!("enc")), "BAD_REQUEST"),
        (key("d", json!("AQAB")), "BAD_REQUEST"),
        (
            key("n", json!(BASE64_URL_SAFE_NO_PAD.encode(short))),
            "BAD_REQUEST",
        ),
        (key("e", json!("AQ")), "BAD_REQUEST"),
        (json!({"jwk": "RSA"}), "BAD_REQUEST"),
        (json!({"jwk": null}), "BAD_REQUEST"),
        (
            json!({"jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB", "x": 1, "y": 2}}),
            "BAD_REQUEST",
        ),
        (json!({"keyId": ""}), "BAD_REQUEST"),
        (json!({"keyId": "a/b"}), "BAD_REQUEST"),
        (json!({"keyId": "ä"}), "BAD_REQUEST"),
        (json!({"keyId": "x".repeat(129)}), "BAD_REQUEST"),
        (json!({"keyId": null}), "BAD_REQUEST"),
        (json!({"audience": "robot"}), "BAD_REQUEST"),
        (json!({"audience": null}), "BAD_REQUEST"),
        (json!({"issuers": "one"}), "BAD_REQUEST"),
        (json!({"issuers": [""]}), "BAD_REQUEST"),
        (json!({"issuers": ["x".repeat(1_001)]}), "BAD_REQUEST"),
        (json!({"issuers": vec!["x"; 101]}), "BAD_REQUEST"),
        (json!({"validTo": "yesterday"}), "BAD_REQUEST"),
        (json!({"validTo": "2020-01-01T00:00:00Z"}), "BAD_REQUEST"),
        (
            json!({"validFrom": "2999-01-02T00:00:00Z", "validTo": "2999-01-01T00:00:00Z"}),
            "BAD_REQUEST",
        ),
        (json!({"invalidatePrevious": "yes"}), "BAD_REQUEST"),
        (json!({"invalidateGracePeriodSec": -1}), "BAD_REQUEST"),
        (
            json!({"invalidateGracePeriodSec": 31_622_401}),
            "BAD_REQUEST",
        ),
    ] {
        let said = register(&rest, NAME, more.clone()).await;
        assert_eq!(
            (said.status.as_u16(), said.problem().as_str()),
            (400, code),
            "{more}"
        );
    }
    for body in [
        "",
        "{}",
        "[]",
        r#"{"kty": "RSA", "n": "AQAB", "e": "AQAB"}"#,
    ] {
        rest.post(PATH, body).await.refused(400, "BAD_REQUEST");
    }
    assert_eq!(listed(&rest).await, []);
    let longest = format!("{}._-", "x".repeat(125));
    register(&rest, &longest, key("alg", json!("RS256")))
        .await
        .ok();
    for (action, body) in [
        ("invalidate", r#"{"gracePeriodSec": 31622401}"#),
        ("invalidate", "{"),
        ("reactivate", ""),
        ("reactivate", r#"{"validTo": "2020-01-01T00:00:00Z"}"#),
    ] {
        let said = rest.post(&format!("{PATH}/{longest}/{action}"), body).await;
        said.refused(400, "BAD_REQUEST");
    }
    let keyed = rest.with("idempotency-key", "k");
    let said = keyed.delete(&format!("{PATH}/{longest}")).await;
    said.refused(400, "BAD_REQUEST");
    assert_eq!(listed(&rest).await, [(longest, true)]);
}

/// Every path, with what makes sense there.
fn paths() -> [(&'static str, String, String); 5] {
    let path = |rest: &str| format!("{PATH}{rest}");
    let validity = r#"{"validTo": "2999-01-01T00:00:00Z"}"#;
    [
        ("GET", path(""), String::new()),
        ("POST", path(""), wanted(NAME, json!({})).to_string()),
        ("DELETE", path("/k"), String::new()),
        ("POST", path("/k/invalidate"), String::new()),
        ("POST", path("/k/reactivate"), validity.to_owned()),
    ]
}

#[tokio::test]
async fn there_are_no_trusted_keys_unless_the_settings_say_so() {
    let server = Server::with(iam::SETTINGS);
    let admin = iam::admin(&server, iam::TENANT);
    let nobody = iam::bearing(
        &server,
        &iam::signed(&claims_of(iam::TENANT, &["ROLE_M2M"])),
    );
    for (method, path, body) in paths() {
        // Whatever else may be wrong, that comes first; but for who may not ask.
        for body in [body, "{".to_owned()] {
            let said = admin.send(method, &path, body.clone()).await;
            said.refused(404, "FEATURE_DISABLED");
            let said = nobody.send(method, &path, body).await;
            said.refused(403, "FORBIDDEN");
        }
    }
    let bearer = iam::signed(&claims_of(iam::TENANT, &["ROLE_ADMIN"]));
    let bearer = format!("Bearer {bearer}");
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    for request in ["TrustedKeyRegisterRequest", "TrustedKeyDeleteRequest"] {
        let refused = connection.fails(request, json!({})).await;
        assert_eq!(refused, "FEATURE_DISABLED", "{request}");
    }
    untrusted(&exchange(&server, &theirs(&subject(iam::TENANT))).await);
}

#[tokio::test]
async fn there_are_no_trusted_keys_while_authentication_is_mocked() {
    let caller = ("INTERLOCK_IAM_MOCK_CALLER", "true");
    for (settings, status, code) in [
        (vec![caller], 404, "FEATURE_DISABLED"),
        (vec![caller, ON], 501, "NOT_IMPLEMENTED"),
    ] {
        let server = Server::with(&settings);
        let somebody = server.rest().with("x-mock-roles", "ROLE_M2M");
        for (method, path, body) in paths() {
            let said = server.rest().send(method, &path, body.clone()).await;
            said.refused(status, code);
            let said = somebody.send(method, &path, body).await;
            said.refused(403, "FORBIDDEN");
        }
        // A token is had for everything, and nobody looks at it.
        exchange_as(&server.rest(), ("any", "one"), "x").await.ok();
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, value) in [
        (ON.0, "perhaps"),
        ("CYODA_IAM_TRUSTED_KEY_MAX_PER_TENANT", "-1"),
        ("CYODA_IAM_TRUSTED_KEY_MAX_VALIDITY_DAYS", "0"),
        ("CYODA_IAM_TRUSTED_KEY_MAX_JWK_PROPERTIES", "0"),
    ] {
        let settings = iam::settings(&[(name, value)]);
        let output = command(folder.path(), &settings).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(name), "{said}");
    }
}
