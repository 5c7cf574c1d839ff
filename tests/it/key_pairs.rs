//! Key pairs of tenants (`rest.md` §7).

use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use rsa::{RsaPrivateKey, pkcs1::EncodeRsaPrivateKey as _, pkcs8::DecodePrivateKey as _};
use serde_json::{Value, json};

use crate::support::{
    Rest, Server, command, iam,
    token::{KID, claims_of, seconds},
};

const PATH: &str = "/api/oauth/keys/keypair";

/// What seals private keys, and something else of that form.
const SEAL: (&str, &str) = (
    "INTERLOCK_KEY_ENCRYPTION_KEY",
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
);
const OTHER_SEAL: (&str, &str) = (SEAL.0, "AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");

/// What every RSA key of 2048 bits begins with in PKCS #8 and base64.
const PRIVATE: &str = "MIIEv";

/// Issues a pair; its name.
async fn issued(rest: &Rest, more: Value) -> String {
    iam::text(&issue(rest, more).await["keyId"])
}

async fn issue(rest: &Rest, more: Value) -> Value {
    let mut body = json!({"algorithm": "RS256", "audience": "client"});
    let more = more.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(more);
    rest.post(PATH, body.to_string()).await.ok()
}

/// The key that signs for clients.
async fn current(rest: &Rest) -> String {
    let path = format!("{PATH}/current?audience=client");
    iam::text(&rest.get(&path).await.ok()["keyId"])
}

/// Has something done to a pair of which nothing is said.
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

/// The names of the published keys.
async fn published(server: &Server) -> BTreeSet<String> {
    let keys = server.rest().get("/api/.well-known/jwks.json").await.ok();
    let keys = keys["keys"].as_array().expect("a list");
    keys.iter().map(|key| iam::text(&key["kid"])).collect()
}

/// A token for the client of the settings, and the name of the key that signed it.
async fn token(server: &Server) -> (String, String) {
    let token = iam::token(&server.rest(), iam::FIRST.0, iam::FIRST.1).await;
    let (_, kid) = iam::claims(&token);
    (token, kid)
}

#[tokio::test]
async fn a_tenants_own_pair_signs_for_its_clients() {
    let server = Server::with(iam::SETTINGS);
    let (rest, other) = (
        iam::admin(&server, iam::TENANT),
        iam::admin(&server, "other"),
    );
    let (before, settings_key) = token(&server).await;
    assert_eq!(current(&rest).await, settings_key);
    let pair = issue(&rest, json!({})).await;
    let name = iam::text(&pair["keyId"]);
    assert_eq!(
        (&pair["algorithm"], &pair["active"]),
        (&json!("RS256"), &json!(true))
    );
    assert_eq!(
        rest.get(&format!("{PATH}/current?audience=client"))
            .await
            .ok(),
        pair
    );
    let (after, kid) = token(&server).await;
    assert_eq!(kid, name);
    for token in [&before, &after] {
        assert!(iam::is_taken(&server, token).await);
    }
    // Everyone can check it, with what is published and with what the administrator received.
    let keys = server.rest().get("/api/.well-known/jwks.json").await.ok();
    let key = keys["keys"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|key| key["kid"] == name);
    let key = key.expect("published");
    let part = |member: &str| key[member].as_str().expect("a text");
    let key = DecodingKey::from_rsa_components(part("n"), part("e")).expect("a key");
    let mut rules = Validation::new(Algorithm::RS256);
    rules.set_issuer(&["cyoda"]);
    decode::<Value>(&after, &key, &rules).expect("is theirs");
    let info = BASE64_STANDARD
        .decode(iam::text(&pair["publicKey"]))
        .expect("base64");
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        BASE64_STANDARD.encode(info)
    );
    let key = DecodingKey::from_rsa_pem(pem.as_bytes()).expect("a key");
    decode::<Value>(&after, &key, &rules).expect("is theirs");
    // For other tenants, and for people, nothing has changed.
    assert_eq!(current(&other).await, settings_key);
    let made = other.post("/api/clients", "").await.ok();
    let (id, secret) = (
        iam::text(&made["client_id"]),
        iam::text(&made["client_secret"]),
    );
    let others = iam::token(&server.rest(), &id, &secret).await;
    assert_eq!(iam::claims(&others).1, settings_key);
    let human = format!("{PATH}/current?audience=human");
    rest.get(&human).await.refused(404, "KEYPAIR_NOT_FOUND");
    let people = issued(&rest, json!({"audience": "human"})).await;
    assert_eq!(rest.get(&human).await.ok()["keyId"], people);
    assert_eq!(token(&server).await.1, name);
    assert_eq!(
        published(&server).await,
        BTreeSet::from([settings_key, name, people])
    );
}

#[tokio::test]
async fn the_settings_say_whose_tokens_their_key_signs() {
    let setting = [("CYODA_JWT_BOOTSTRAP_AUDIENCE", "human")];
    let server = Server::with(&iam::settings(&setting));
    let rest = iam::admin(&server, iam::TENANT);
    let current = rest
        .get(&format!("{PATH}/current?audience=human"))
        .await
        .ok();
    assert_eq!(current["active"], true);
    assert!(current.get("validTo").is_none(), "{current}");
    let client = rest.get(&format!("{PATH}/current?audience=client")).await;
    client.refused(404, "KEYPAIR_NOT_FOUND");
}

#[tokio::test]
async fn a_pair_that_is_replaced_is_good_for_its_period_of_grace() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let settings_key = token(&server).await.1;
    let first = issued(&rest, json!({})).await;
    let (by_first, _) = token(&server).await;
    let more = json!({"invalidateCurrent": true, "invalidateGracePeriodSec": 3_600});
    let second = issued(&rest, more).await;
    assert_eq!(current(&rest).await, second);
    let (by_second, kid) = token(&server).await;
    assert_eq!(kid, second);
    for _ in 0..2 {
        assert!(iam::is_taken(&server, &by_first).await);
        assert!(iam::is_taken(&server, &by_second).await);
    }
    let names = |names: &[&String]| names.iter().copied().cloned().collect::<BTreeSet<_>>();
    assert_eq!(
        published(&server).await,
        names(&[&settings_key, &first, &second])
    );

    // Without grace at once, whatever was known of the token.
    done(&rest, "POST", &format!("{second}/invalidate"), "").await;
    assert!(!iam::is_taken(&server, &by_second).await);
    assert!(iam::is_taken(&server, &by_first).await);
    assert_eq!(published(&server).await, names(&[&settings_key, &first]));
    // What has grace signs no more: it is the key of the settings again.
    assert_eq!(current(&rest).await, settings_key);
    assert_eq!(token(&server).await.1, settings_key);

    let path = format!("{PATH}/{second}/reactivate");
    let back = rest
        .post(&path, r#"{"validTo": "9999-01-01T00:00:00Z"}"#)
        .await
        .ok();
    assert_eq!(
        (&back["keyId"], &back["active"], &back["validTo"]),
        (&json!(second), &json!(true), &json!("9999-01-01T00:00:00Z"))
    );
    assert!(iam::is_taken(&server, &by_second).await);
    assert_eq!(
        (current(&rest).await, token(&server).await.1),
        (second.clone(), second.clone())
    );

    // Grace ends by itself.
    done(
        &rest,
        "POST",
        &format!("{first}/invalidate"),
        r#"{"gracePeriodSec": 1}"#,
    )
    .await;
    let bearer = iam::bearing(&server, &by_first);
    while bearer.get("/api/account").await.status == 200 {}
    assert!(!iam::is_taken(&server, &by_first).await);
    assert_eq!(published(&server).await, names(&[&settings_key, &second]));
    // And what is deleted is gone.
    for name in [&first, &second] {
        done(&rest, "DELETE", name, "").await;
        let gone = rest.delete(&format!("{PATH}/{name}")).await;
        gone.refused(404, "KEYPAIR_NOT_FOUND");
    }
    assert!(!iam::is_taken(&server, &by_second).await);
    assert_eq!(published(&server).await, names(&[&settings_key]));
}

#[tokio::test]
async fn a_pair_signs_in_its_time() {
    let server = Server::with(&iam::settings(&[(
        "CYODA_IAM_KEYPAIR_DEFAULT_VALIDITY_DAYS",
        "2",
    )]));
    let rest = iam::admin(&server, iam::TENANT);
    let settings_key = token(&server).await.1;
    let later = issue(&rest, json!({"validFrom": "2999-01-01T00:00:00Z"})).await;
    assert_eq!(later["validTo"], "2999-01-03T00:00:00Z");
    assert_eq!(current(&rest).await, settings_key);
    assert!(
        published(&server)
            .await
            .contains(&iam::text(&later["keyId"]))
    );
    // A token is not good for longer than its key.
    let soon = chrono::DateTime::from_timestamp(seconds(600), 0).expect("a time");
    let short = issued(&rest, json!({"validTo": soon.to_rfc3339()})).await;
    let granted = iam::ask(&server.rest(), iam::FIRST.0, iam::FIRST.1)
        .await
        .ok();
    let (claims, kid) = iam::claims(&iam::text(&granted["access_token"]));
    assert_eq!(kid, short);
    let life = granted["expires_in"].as_i64().expect("a number");
    assert!((1..=600).contains(&life), "{life}");
    assert!(
        claims["exp"].as_i64().expect("a number") <= soon.timestamp(),
        "{claims}"
    );
    // Of several that may, the one that began last signs.
    let next = issued(&rest, json!({})).await;
    assert_eq!(current(&rest).await, next);
    let earlier = issued(
        &rest,
        json!({"validFrom": "2020-01-01T00:00:00Z", "validTo": "2999-01-01T00:00:00Z"}),
    )
    .await;
    assert_ne!(earlier, next);
    assert_eq!(current(&rest).await, next);
}

#[tokio::test]
async fn pairs_live_by_events_as_by_paths() {
    let server = Server::with(iam::SETTINGS);
    let bearer = format!("Bearer {}", token(&server).await.0);
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    let asked = json!({"algorithm": "RS256", "audience": "human"});
    let pair = connection.ok("KeyPairIssueRequest", asked).await;
    let name = &pair["keyId"];
    let human = json!({"audience": "human"});
    let reported = connection.ok("KeyPairGetRequest", human.clone()).await;
    for member in [
        "keyId",
        "algorithm",
        "publicKey",
        "active",
        "validFrom",
        "validTo",
    ] {
        assert_eq!(reported[member], pair[member], "{member}");
    }
    assert!(!reported.to_string().contains(PRIVATE), "{reported}");
    let one = json!({"keyId": name, "gracePeriodSec": 60});
    connection.ok("KeyPairInvalidateRequest", one).await;
    let none = connection.fails("KeyPairGetRequest", human.clone()).await;
    assert_eq!(none, "KEYPAIR_NOT_FOUND");
    let again = json!({"keyId": name, "validFrom": "2020-01-01T00:00:00Z", "validTo": "2999-01-01T00:00:00Z"});
    let back = connection.ok("KeyPairReactivateRequest", again).await;
    assert_eq!(
        (&back["validFrom"], &back["validTo"]),
        (
            &json!("2020-01-01T00:00:00Z"),
            &json!("2999-01-01T00:00:00Z")
        )
    );
    assert_eq!(
        connection.ok("KeyPairGetRequest", human).await["keyId"],
        *name
    );
    connection
        .ok("KeyPairDeleteRequest", json!({"keyId": name}))
        .await;
    let gone = connection
        .fails("KeyPairDeleteRequest", json!({"keyId": name}))
        .await;
    assert_eq!(gone, "KEYPAIR_NOT_FOUND");
}

#[tokio::test]
async fn a_tenant_knows_nothing_of_the_pairs_of_others() {
    let server = Server::with(iam::SETTINGS);
    let (one, other) = (iam::admin(&server, "one"), iam::admin(&server, "other"));
    let settings_key = current(&one).await;
    let theirs = issued(&one, json!({})).await;
    let nobodys = "00000000000000000000000000000000";
    let validity = r#"{"validTo": "2999-01-01T00:00:00Z"}"#;
    for (method, rest, body) in [
        ("DELETE", "", ""),
        ("POST", "/invalidate", ""),
        ("POST", "/reactivate", validity),
    ] {
        let path = |name: &str| format!("{PATH}/{name}{rest}");
        let known = other.send(method, &path(&theirs), body).await;
        let unknown = other.send(method, &path(nobodys), body).await;
        known.refused(404, "KEYPAIR_NOT_FOUND");
        assert_eq!(known.text.replace(&theirs, nobodys), unknown.text);
        // Nor can anyone change the key of the settings, and the refusal says so.
        let problem = one.send(method, &path(&settings_key), body).await;
        let problem = problem.refused(404, "KEYPAIR_NOT_FOUND");
        let detail = iam::text(&problem["detail"]);
        assert!(detail.contains("CYODA_JWT_SIGNING_KEY"), "{detail}");
    }
    assert_eq!(
        (current(&one).await, current(&other).await),
        (theirs, settings_key)
    );
}

/// The private key that lies open in the database of a server.
fn private_key(server: &Server) -> RsaPrivateKey {
    let record = server.stored("select record from identity");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    let der = BASE64_STANDARD.decode(iam::text(&record["key"]));
    RsaPrivateKey::from_pkcs8_der(&der.expect("base64")).expect("a key")
}

#[tokio::test]
async fn a_pair_speaks_for_its_tenant_only() {
    let server = Server::on_disk(iam::SETTINGS);
    let name = issued(&iam::admin(&server, "one"), json!({})).await;
    let key = private_key(&server).to_pkcs1_der().expect("a key");
    let key = EncodingKey::from_rsa_der(key.as_bytes());
    let signed = |tenant: &str| {
        let header = Header {
            kid: Some(name.clone()),
            ..Header::new(Algorithm::RS256)
        };
        encode(&header, &claims_of(tenant, &["ROLE_ADMIN"]), &key).expect("signed")
    };
    for _ in 0..2 {
        assert!(iam::is_taken(&server, &signed("one")).await);
        for other in ["other", iam::TENANT, "One", ""] {
            assert!(!iam::is_taken(&server, &signed(other)).await, "{other}");
        }
    }
}

#[tokio::test]
async fn pairs_outlive_the_process_as_they_were() {
    let mut server = Server::on_disk(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let deleted = issued(&rest, json!({})).await;
    let (by_deleted, _) = token(&server).await;
    let graced = issued(&rest, json!({})).await;
    let (by_graced, _) = token(&server).await;
    let more = json!({"invalidateCurrent": true, "invalidateGracePeriodSec": 3_600});
    let invalid = issued(&rest, more).await;
    let (by_invalid, _) = token(&server).await;
    done(&rest, "POST", &format!("{invalid}/invalidate"), "{}").await;
    let signing = issued(&rest, json!({})).await;
    let (by_signing, _) = token(&server).await;
    done(&rest, "DELETE", &deleted, "").await;
    let reported = rest
        .get(&format!("{PATH}/current?audience=client"))
        .await
        .ok();
    let names = published(&server).await;
    server.kill();
    server.restart();

    let rest = iam::admin(&server, iam::TENANT);
    assert_eq!(
        rest.get(&format!("{PATH}/current?audience=client"))
            .await
            .ok(),
        reported
    );
    assert_eq!(reported["keyId"], signing);
    assert_eq!(published(&server).await, names);
    assert!(names.contains(&graced) && !names.contains(&invalid) && !names.contains(&deleted));
    for (token, is_good) in [
        (&by_signing, true),
        (&by_graced, true),
        (&by_invalid, false),
        (&by_deleted, false),
    ] {
        assert_eq!(iam::is_taken(&server, token).await, is_good);
    }
    assert_eq!(token(&server).await.1, signing);
}

#[tokio::test]
async fn private_keys_are_stored_encrypted_where_the_settings_say_so() {
    let sealed = iam::settings(&[SEAL, ("CYODA_LOG_LEVEL", "debug")]);
    let mut server = Server::on_disk(&sealed);
    let name = issued(&iam::admin(&server, iam::TENANT), json!({})).await;
    let (token, kid) = token(&server).await;
    assert_eq!(kid, name);
    server.kill();
    assert!(iam::leaks(&server, &name), "the search finds what is there");
    assert!(!iam::leaks(&server, PRIVATE));
    // Without the key the pair verifies and does not sign, and the log says once what to do.
    for settings in [iam::SETTINGS.to_vec(), iam::settings(&[OTHER_SEAL])] {
        server.restart_with(&settings);
        let rest = iam::admin(&server, iam::TENANT);
        assert!(iam::is_taken(&server, &token).await);
        assert_eq!(current(&rest).await, name);
        let (by_settings, kid) = self::token(&server).await;
        assert_eq!(kid, *KID);
        // Others are not concerned, and a later change does not report it again.
        let other = issued(&iam::admin(&server, "other"), json!({})).await;
        assert!(
            published(&server)
                .await
                .is_superset(&BTreeSet::from([name.clone(), other]))
        );
        assert!(iam::is_taken(&server, &by_settings).await);
        let logged = server.logged();
        let mut lines = logged.lines().filter(|line| line.contains("signs nothing"));
        let line = lines.next().expect("a line");
        assert!(line.contains(SEAL.0) && line.contains(&name), "{line}");
        assert!(!logged.contains(OTHER_SEAL.1), "{logged}");
        assert_eq!(lines.next(), None);
        server.kill();
    }
    server.restart_with(&sealed);
    assert!(iam::is_taken(&server, &token).await);
    assert_eq!(self::token(&server).await.1, name);
}

#[tokio::test]
async fn private_keys_that_were_stored_as_they_are_are_encrypted_once_there_is_a_key() {
    let mut server = Server::on_disk(iam::SETTINGS);
    let name = issued(&iam::admin(&server, iam::TENANT), json!({})).await;
    let (by_pair, _) = token(&server).await;
    assert!(iam::leaks(&server, PRIVATE));
    server.kill();
    server.restart_with(&iam::settings(&[SEAL]));
    assert!(iam::is_taken(&server, &by_pair).await);
    assert_eq!(token(&server).await.1, name);
    server.kill();
    server.restart_with(iam::SETTINGS);
    assert_eq!(token(&server).await.1, *KID, "it is encrypted");
    server.kill();
    server.restart_with(&iam::settings(&[SEAL]));
    assert!(iam::is_taken(&server, &by_pair).await);
}

#[test]
fn a_key_that_is_none_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, value) in [
        (SEAL.0, "short"),
        (SEAL.0, "c2hvcnQ="),
        ("CYODA_IAM_KEYPAIR_DEFAULT_VALIDITY_DAYS", "0"),
        ("CYODA_JWT_BOOTSTRAP_AUDIENCE", "robot"),
    ] {
        let settings = iam::settings(&[(name, value)]);
        let output = command(folder.path(), &settings).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(name), "{said}");
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let server = Server::with(iam::SETTINGS);
    let rest = iam::admin(&server, iam::TENANT);
    let settings_key = current(&rest).await;
    let unknown = json!({"algorithm": "RS512", "audience": "client"});
    let said = rest.post(PATH, unknown.to_string()).await;
    said.refused(400, "UNSUPPORTED_ALGORITHM");
    for body in [
        json!({}),
        json!({"algorithm": "RS256"}),
        json!({"audience": "client"}),
        json!({"algorithm": "RS256", "audience": "robot"}),
        json!({"algorithm": "RS256", "audience": 1}),
        json!({"algorithm": "RS256", "audience": "client", "validTo": "yesterday"}),
        json!({"algorithm": "RS256", "audience": "client", "validTo": "2020-01-01T00:00:00Z"}),
        json!({"algorithm": "RS256", "audience": "client", "validFrom": "2999-01-02T00:00:00Z", "validTo": "2999-01-01T00:00:00Z"}),
        json!({"algorithm": "RS256", "audience": "client", "invalidateCurrent": "yes"}),
        json!({"algorithm": "RS256", "audience": "client", "invalidateGracePeriodSec": -1}),
        json!({"algorithm": "RS256", "audience": "client", "invalidateGracePeriodSec": 1.5}),
        json!({"algorithm": "RS256", "audience": "client", "invalidateGracePeriodSec": 31_622_401}),
        json!("RS256"),
    ] {
        let said = rest.post(PATH, body.to_string()).await;
        assert_eq!(said.problem(), "BAD_REQUEST", "{body}");
    }
    rest.post(PATH, "").await.refused(400, "BAD_REQUEST");
    for query in ["", "?audience=", "?audience=robot"] {
        let said = rest.get(&format!("{PATH}/current{query}")).await;
        said.refused(400, "BAD_REQUEST");
    }
    assert_eq!(current(&rest).await, settings_key);
    let name = issued(&rest, json!({"invalidateGracePeriodSec": 31_622_400})).await;
    for (action, body) in [
        ("invalidate", r#"{"gracePeriodSec": 31622401}"#),
        ("invalidate", r#"{"gracePeriodSec": "1"}"#),
        ("invalidate", "{"),
        ("reactivate", ""),
        ("reactivate", "{}"),
        ("reactivate", r#"{"validTo": "2020-01-01T00:00:00Z"}"#),
        ("reactivate", r#"{"validTo": 1}"#),
        (
            "reactivate",
            r#"{"validTo": "2999-01-01T00:00:00Z", "validFrom": "2999-01-01T00:00:00Z"}"#,
        ),
    ] {
        let said = rest.post(&format!("{PATH}/{name}/{action}"), body).await;
        assert_eq!(said.problem(), "BAD_REQUEST", "{action} {body}");
    }
    let keyed = rest.with("idempotency-key", "k");
    keyed
        .delete(&format!("{PATH}/{name}"))
        .await
        .refused(400, "BAD_REQUEST");
    assert_eq!(current(&rest).await, name);
}

#[tokio::test]
async fn there_are_no_pairs_while_authentication_is_mocked() {
    let server = Server::with(&[("INTERLOCK_IAM_MOCK_CALLER", "true")]);
    let somebody = server.rest().with("x-mock-roles", "ROLE_M2M");
    for (method, path, body) in [
        (
            "POST",
            "",
            r#"{"algorithm": "RS256", "audience": "client"}"#,
        ),
        ("GET", "/current?audience=client", ""),
        ("DELETE", "/k", ""),
        ("POST", "/k/invalidate", ""),
        (
            "POST",
            "/k/reactivate",
            r#"{"validTo": "2999-01-01T00:00:00Z"}"#,
        ),
    ] {
        let path = format!("{PATH}{path}");
        server
            .rest()
            .send(method, &path, body)
            .await
            .refused(501, "NOT_IMPLEMENTED");
        somebody
            .send(method, &path, body)
            .await
            .refused(403, "FORBIDDEN");
    }
}
