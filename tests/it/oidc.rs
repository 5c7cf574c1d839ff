//! Providers of tokens that tenants trust (`rest.md` §7, `config-and-cli.md` §9).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::provider::{FIRST, Provider, SECOND, SecureProvider, Whim};
use crate::support::token::{KEY, TAKES_TOKENS, claims_of};
use crate::support::{Rest, Said, Server, iam, wait::until};

const TENANT: &str = "7d3c1d3e-0b5f-4a56-9f0a-3a1a6a6f0001";
const OTHER: &str = "7d3c1d3e-0b5f-4a56-9f0a-3a1a6a6f0002";
const PROVIDERS: &str = "/api/oauth/oidc/providers";

/// Providers may be on this machine, and speak plainly.
const OPEN: &[(&str, &str)] = &[
    ("CYODA_OIDC_REQUIRE_HTTPS", "false"),
    ("CYODA_OIDC_ALLOW_PRIVATE_NETWORKS", "true"),
];

fn open() -> Server {
    Server::with(&takes_tokens(OPEN))
}

fn takes_tokens<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&TAKES_TOKENS, more].concat()
}

/// Someone of ours, whose token the key of the settings has signed.
fn of_tenant(server: &Server, tenant: &str, roles: &[&str]) -> Rest {
    iam::bearing(server, &iam::signed(&claims_of(tenant, roles)))
}

fn administrator(server: &Server) -> Rest {
    of_tenant(server, TENANT, &["ROLE_ADMIN"])
}

async fn account(server: &Server, token: &str) -> Said {
    iam::bearing(server, token).get("/api/account").await
}

/// Whom a token names, and in which tenant.
async fn who(server: &Server, token: &str) -> (String, String) {
    let info = account(server, token).await.ok()["userAccountInfo"].clone();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let (id, name) = (text(&info["userId"]), text(&info["userName"]));
    assert!(
        id.starts_with("oidc:") && id.ends_with(&format!(":{name}")),
        "{id}"
    );
    (name, text(&info["legalEntity"]["id"]))
}

async fn is_refused(server: &Server, token: &str, what: &str) {
    assert!(!iam::is_taken(server, token).await, "{what}");
}

async fn register(rest: &Rest, provider: &Provider, more: Value) -> Value {
    let mut body = more;
    body["wellKnownConfigUri"] = json!(provider.well_known());
    rest.post(PROVIDERS, body.to_string()).await.ok()
}

fn path_of(registered: &Value) -> String {
    format!("{PROVIDERS}/{}", registered["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn a_token_of_a_provider_is_taken_at_every_door_in_the_tenant_that_trusts_it() {
    let (server, provider) = (open(), Provider::start().await);
    let token = provider.token(FIRST);
    is_refused(&server, &token, "nobody trusts it").await;
    assert_eq!(provider.asked(), 0);
    let reported = register(&administrator(&server), &provider, json!({})).await;
    assert!(
        Uuid::try_parse(reported["id"].as_str().expect("an id")).is_ok(),
        "{reported}"
    );
    assert_eq!(
        (&reported["wellKnownConfigUri"], &reported["active"]),
        (&json!(provider.well_known()), &json!(true))
    );
    assert!(
        reported["createdAt"].is_string() && reported.get("issuers").is_none(),
        "{reported}"
    );
    let lies = [
        ("caas_org_id", json!(OTHER)),
        ("caas_user_id", json!("root")),
    ];
    for (claim, value) in lies.into_iter().chain([("azp", json!("app"))]) {
        let token = provider.token_with(FIRST, claim, value);
        assert_eq!(who(&server, &token).await, ("ann".into(), TENANT.into()));
    }
    // On a stream and without one.
    let bearer = format!("Bearer {token}");
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    let reported = connection.ok("AccountGetRequest", json!({})).await;
    assert_eq!(
        reported["userAccountInfo"]["legalEntity"]["id"], TENANT,
        "{reported}"
    );
    assert!(iam::is_taken(&server, &token).await);
    // As a person, who did what it did.
    let model = crate::support::locked_model(&connection, "parcel", json!({"a": 1})).await;
    let id = crate::support::create(&connection, &model, json!({"a": 2})).await;
    let rest = iam::bearing(&server, &token);
    let changes = rest.get(&format!("/api/entity/{id}/changes")).await.ok();
    let user = changes[0]["user"].as_str().expect("a text");
    assert!(
        user.starts_with("oidc:") && user.ends_with(":ann"),
        "{changes}"
    );
}

#[tokio::test]
async fn roles_come_from_the_claim_and_say_what_its_user_may() {
    let (server, provider) = (open(), Provider::start().await);
    let reported = register(&administrator(&server), &provider, json!({})).await;
    let reader = iam::bearing(&server, &provider.token(FIRST));
    reader.get(PROVIDERS).await.ok();
    reader
        .delete(&path_of(&reported))
        .await
        .refused(403, "FORBIDDEN");
    let token = provider.token_with(FIRST, "roles", json!("ROLE_READER ROLE_ADMIN"));
    let chief = iam::bearing(&server, &token);
    let groups = r#"{"rolesClaim":"groups"}"#;
    let changed = chief.send("PATCH", &path_of(&reported), groups).await.ok();
    assert_eq!(changed["rolesClaim"], "groups", "{changed}");
    // At once, although the token was known.
    chief
        .delete(&path_of(&reported))
        .await
        .refused(403, "FORBIDDEN");
    let token = provider.token_with(FIRST, "groups", json!({"ROLE_ADMIN": {}, "a,b": 1}));
    let info = account(&server, &token).await.ok()["userAccountInfo"].clone();
    assert_eq!(info["roles"], json!([{"id": "ROLE_ADMIN"}]));
    // `null` takes it away.
    let chief = iam::bearing(&server, &token);
    let body = r#"{"rolesClaim":null,"expectedAudiences":["app"]}"#;
    let changed = chief.send("PATCH", &path_of(&reported), body).await.ok();
    assert!(changed.get("rolesClaim").is_none(), "{changed}");
    assert_eq!(changed["expectedAudiences"], json!(["app"]));
    chief
        .delete(&path_of(&reported))
        .await
        .refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn keys_are_rotated_without_a_restart() {
    let (server, provider) = (open(), Provider::start().await);
    let rest = administrator(&server);
    register(&rest, &provider, json!({})).await;
    let old = provider.token(FIRST);
    for _ in 0..2 {
        account(&server, &old).await.ok();
    }
    provider.rotate(&[SECOND]);
    // Whoever comes with the new key first makes it known, and the old one forgotten.
    account(&server, &provider.token(SECOND)).await.ok();
    is_refused(&server, &old, "signed with a key that is gone").await;
    // Or those who administer do.
    provider.rotate(&[FIRST, SECOND]);
    let reported = rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
    assert_eq!(reported["providers"][0]["keys"], 2, "{reported}");
    account(&server, &old).await.ok();
    provider.rotate(&[]);
    let reported = rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
    assert_eq!(reported["providers"][0]["keys"], 0, "{reported}");
    for key in [FIRST, SECOND] {
        is_refused(&server, &provider.token(key), "no key").await;
    }
}

#[tokio::test]
async fn strangers_cannot_make_us_ask_a_provider_again_and_again() {
    let (server, provider) = (open(), Provider::start().await);
    register(&administrator(&server), &provider, json!({})).await;
    account(&server, &provider.token(FIRST)).await.ok();
    let before = provider.asked();
    let names: Vec<&'static str> = (0..50).map(|n| &*n.to_string().leak()).collect();
    for name in names {
        let token = provider.token((name, FIRST.1));
        is_refused(&server, &token, "an unknown key").await;
    }
    // Five times at once, each for the document and for the keys; a sixth if this takes long.
    let asked = provider.asked() - before;
    assert!((2..=30).contains(&asked), "asked {asked} times");
    let other = provider.token_with(("unknown", FIRST.1), "iss", json!("https://else.example"));
    let before = provider.asked();
    is_refused(&server, &other, "another issuer").await;
    assert_eq!(
        provider.asked(),
        before,
        "it is not asked for what cannot be its own"
    );
    account(&server, &provider.token(FIRST)).await.ok();
}

#[tokio::test]
async fn a_provider_whose_keys_were_not_known_is_not_reactivated_without_them() {
    let provider = Provider::start().await;
    let mut server = Server::on_disk(&takes_tokens(OPEN));
    let registered = register(&administrator(&server), &provider, json!({})).await;
    let path = path_of(&registered);
    let token = provider.token(FIRST);
    account(&server, &token).await.ok();
    provider.has(Whim::Missing);
    server.kill();
    server.restart();
    let rest = administrator(&server);
    rest.post(&format!("{path}/invalidate"), "").await.ok();
    provider.has(Whim::None);
    let (without, with) = (r#"{"reactivateKeys":false}"#, r#"{"reactivateKeys":true}"#);
    let path = format!("{path}/reactivate");
    let said = rest.post(&path, without).await;
    said.refused(409, "OIDC_PROVIDER_INACTIVE");
    is_refused(&server, &token, "it is still invalidated").await;
    provider.rotate(&[SECOND]);
    rest.post(&path, with).await.ok();
    account(&server, &provider.token(SECOND)).await.ok();
    is_refused(&server, &token, "it is not published any more").await;
}

#[tokio::test]
async fn only_good_tokens_are_taken_and_every_other_one_is_refused_alike() {
    let (server, provider) = (open(), Provider::start().await);
    let audience = json!({"expectedAudiences": ["app", "web"]});
    register(&administrator(&server), &provider, audience).await;
    account(&server, &provider.token(FIRST)).await.ok();
    let now = provider.claims()["iat"].as_i64().expect("a date");
    let mut bodies = BTreeSet::new();
    let with = |claim: &str, value: Value| provider.token_with(FIRST, claim, value);
    let unsigned = {
        let whole = provider.token(FIRST);
        let (said, _) = whole.rsplit_once('.').expect("three parts");
        format!("{said}.")
    };
    for (what, token) in [
        ("expired", with("exp", json!(now - 40))),
        ("issued tomorrow", with("iat", json!(now + 86_400))),
        ("not yet", with("nbf", json!(now + 86_400))),
        ("another issuer", with("iss", json!("cyoda"))),
        ("another audience", with("aud", json!(["else"]))),
        ("no audience", with("aud", json!(null))),
        ("no user", with("sub", json!(null))),
        ("another key", provider.token((FIRST.0, SECOND.1))),
        ("our own key", provider.token((FIRST.0, KEY))),
        ("no signature", unsigned),
        ("a notice", with("events", json!({"logout": {}}))),
        (
            "of a notice's type",
            provider.token_of_type(FIRST, "logout+jwt"),
        ),
    ] {
        let said = account(&server, &token).await;
        assert_eq!(said.status, 401, "{what}: {}", said.text);
        bodies.insert(said.text);
    }
    let nothing = server.rest().get("/api/account").await;
    bodies.insert(nothing.text);
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    account(&server, &with("aud", json!(["else", "web"])))
        .await
        .ok();
}

#[tokio::test]
async fn what_is_invalidated_is_worthless_at_once_until_it_is_reactivated() {
    let (server, provider) = (open(), Provider::start().await);
    let rest = administrator(&server);
    let path = path_of(&register(&rest, &provider, json!({})).await);
    let token = provider.token(FIRST);
    account(&server, &token).await.ok();
    for _ in 0..2 {
        let reported = rest.post(&format!("{path}/invalidate"), "").await.ok();
        assert_eq!(reported["active"], false, "{reported}");
    }
    is_refused(&server, &token, "invalidated").await;
    let changed = rest.send("PATCH", &path, r#"{"issuers":["x"]}"#).await;
    changed.refused(409, "OIDC_PROVIDER_INACTIVE");
    let listed = rest.get(PROVIDERS).await.ok();
    assert_eq!(listed[0]["active"], false, "{listed}");
    let reported = rest.post(&format!("{path}/reactivate"), "").await.ok();
    assert_eq!(reported["active"], true, "{reported}");
    account(&server, &token).await.ok();
    // Without the keys it had: they may be known to others.
    rest.post(&format!("{path}/invalidate"), "").await.ok();
    let body = r#"{"reactivateKeys":false}"#;
    rest.post(&format!("{path}/reactivate"), body).await.ok();
    is_refused(&server, &token, "a key it had").await;
    provider.rotate(&[FIRST, SECOND]);
    account(&server, &provider.token(SECOND)).await.ok();
    is_refused(&server, &token, "a key it had").await;
    let body = r#"{"reactivateKeys":true}"#;
    rest.post(&format!("{path}/reactivate"), body).await.ok();
    account(&server, &token).await.ok();
    let reported = rest.delete(&path).await.ok();
    assert_eq!(
        format!("{PROVIDERS}/{}", reported["id"].as_str().expect("an id")),
        path
    );
    is_refused(&server, &token, "deleted").await;
    rest.delete(&path)
        .await
        .refused(404, "OIDC_PROVIDER_NOT_FOUND");
    assert_eq!(rest.get(PROVIDERS).await.ok(), json!([]));
}

#[tokio::test]
async fn providers_are_there_after_a_restart() {
    let provider = Provider::start().await;
    let mut server = Server::on_disk(&takes_tokens(OPEN));
    let rest = administrator(&server);
    let claim = json!({"rolesClaim": "groups", "issuers": [provider.claims()["iss"]],
        "expectedAudiences": ["app"]});
    let reported = register(&rest, &provider, claim).await;
    let path = path_of(&reported);
    let listed = rest.get(PROVIDERS).await.ok();
    assert_eq!(listed, json!([reported]));
    server.kill();
    server.restart();
    let rest = administrator(&server);
    assert_eq!(rest.get(PROVIDERS).await.ok(), listed);
    let token = provider.token(FIRST);
    account(&server, &token).await.ok();
    rest.post(&format!("{path}/invalidate"), "").await.ok();
    server.kill();
    server.restart();
    let rest = administrator(&server);
    is_refused(&server, &token, "invalidated before the restart").await;
    let body = r#"{"reactivateKeys":false}"#;
    rest.post(&format!("{path}/reactivate"), body).await.ok();
    is_refused(&server, &token, "a key of before the restart").await;
    rest.delete(&path).await.ok();
    server.kill();
    server.restart();
    assert_eq!(administrator(&server).get(PROVIDERS).await.ok(), json!([]));
}

#[tokio::test]
async fn another_tenants_provider_is_as_unknown_as_none() {
    let (server, provider) = (open(), Provider::start().await);
    let (rest, other) = (
        administrator(&server),
        of_tenant(&server, OTHER, &["ROLE_ADMIN"]),
    );
    let theirs = path_of(&register(&rest, &provider, json!({})).await);
    let (_, id) = theirs.rsplit_once('/').expect("a path");
    let nobodys = Uuid::nil().to_string();
    assert_eq!(other.get(PROVIDERS).await.ok(), json!([]));
    for (method, more, body) in [
        ("PATCH", "", r#"{"rolesClaim":"x"}"#),
        ("DELETE", "", ""),
        ("POST", "/invalidate", ""),
        ("POST", "/reactivate", ""),
    ] {
        let path = format!("{theirs}{more}");
        let said = other.send(method, &path, body).await;
        said.refused(404, "OIDC_PROVIDER_NOT_FOUND");
        let unknown = path.replace(id, &nobodys);
        let unknown = other.send(method, &unknown, body).await;
        assert_eq!(
            said.text,
            unknown.text.replace(&nobodys, id),
            "{method} {more}"
        );
    }
    let reported = other.post(&format!("{PROVIDERS}/reload"), "").await.ok();
    assert_eq!(reported["providers"], json!([]));
    account(&server, &provider.token(FIRST)).await.ok();
}

#[tokio::test]
async fn a_token_that_could_be_of_two_tenants_is_of_the_one_that_registered_first() {
    let (server, provider) = (open(), Provider::start().await);
    let (rest, other) = (
        administrator(&server),
        of_tenant(&server, OTHER, &["ROLE_ADMIN"]),
    );
    let ours = path_of(&register(&rest, &provider, json!({})).await);
    let token = provider.token(FIRST);
    let is_ours = ("ann".to_owned(), TENANT.to_owned());
    assert_eq!(who(&server, &token).await, is_ours);
    // Nothing that another tenant does with the same provider is noticed.
    let theirs = path_of(&register(&other, &provider, json!({})).await);
    assert_eq!(who(&server, &token).await, is_ours);
    let said = other.post(&format!("{PROVIDERS}/reload"), "").await.ok();
    assert_eq!(said["providers"][0]["keys"], 1, "{said}");
    let again = provider.token_with(FIRST, "jti", json!("again"));
    assert_eq!(who(&server, &again).await, is_ours);
    for (rest, path, audience) in [(&rest, &ours, "app"), (&other, &theirs, "web")] {
        let body = json!({"expectedAudiences": [audience]}).to_string();
        rest.send("PATCH", path, body).await.ok();
    }
    for (audience, tenant) in [("app", TENANT), ("web", OTHER)] {
        let token = provider.token_with(FIRST, "aud", json!(audience));
        assert_eq!(who(&server, &token).await, ("ann".into(), tenant.into()));
    }
    let both = provider.token_with(FIRST, "aud", json!(["app", "web"]));
    assert_eq!(who(&server, &both).await, is_ours);
    // Invalidated, its tokens are nobody's.
    rest.post(&format!("{ours}/invalidate"), "").await.ok();
    is_refused(&server, &both, "the first is invalidated").await;
    rest.delete(&ours).await.ok();
    assert_eq!(who(&server, &both).await, ("ann".into(), OTHER.into()));
}

#[tokio::test]
async fn a_token_is_of_the_tenant_that_names_its_audience_before_one_that_takes_any() {
    let (server, provider) = (open(), Provider::start().await);
    let other = of_tenant(&server, OTHER, &["ROLE_ADMIN"]);
    register(&other, &provider, json!({})).await;
    let theirs = ("ann".to_owned(), OTHER.to_owned());
    assert_eq!(who(&server, &provider.token(FIRST)).await, theirs);
    let audience = json!({"expectedAudiences": ["app"]});
    let ours = path_of(&register(&administrator(&server), &provider, audience).await);
    let rest = administrator(&server);
    rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
    let is_ours = ("ann".to_owned(), TENANT.to_owned());
    assert_eq!(who(&server, &provider.token(FIRST)).await, is_ours);
    let any = provider.token_with(FIRST, "aud", json!("web"));
    assert_eq!(who(&server, &any).await, theirs);
    rest.post(&format!("{ours}/invalidate"), "").await.ok();
    is_refused(&server, &provider.token(FIRST), "invalidated").await;
}

#[tokio::test]
async fn the_log_says_how_many_keys_of_a_provider_are_not_used() {
    let (server, provider) = (open(), Provider::start().await);
    provider.has(Whim::Mixed);
    let rest = administrator(&server);
    register(&rest, &provider, json!({})).await;
    for _ in 0..2 {
        let said = rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
        assert_eq!(said["providers"][0]["keys"], 1, "{said}");
    }
    let count = || server.logged().matches("keys that are not used").count();
    until("it is logged", async || count() > 0).await;
    assert_eq!(count(), 1, "{}", server.logged());
}

#[tokio::test]
async fn what_only_this_machine_can_reach_is_not_asked() {
    let provider = Provider::start().await;
    let port = provider.address.port();
    let server = Server::with(&takes_tokens(&[("CYODA_OIDC_REQUIRE_HTTPS", "false")]));
    let rest = administrator(&server);
    let tried = async |uri: String| {
        let body = json!({"wellKnownConfigUri": uri}).to_string();
        rest.post(PROVIDERS, body).await
    };
    for host in [
        "127.0.0.1",
        "localhost",
        "LocalHost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "0",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "100.64.0.1",
        "[fd00:ec2::254]",
        "[fe80::1]",
    ] {
        for scheme in ["http", "https"] {
            let said = tried(format!("{scheme}://{host}:{port}/.well-known/x")).await;
            let reported = said.refused(400, "OIDC_SSRF_BLOCKED");
            assert!(
                reported["detail"]
                    .as_str()
                    .expect("a text")
                    .contains("CYODA_OIDC_ALLOW_PRIVATE_NETWORKS")
            );
        }
    }
    assert_eq!(
        (provider.asked(), rest.get(PROVIDERS).await.ok()),
        (0, json!([]))
    );
    // By default not even a name is looked up that does not speak TLS.
    let server = Server::with(&TAKES_TOKENS);
    let rest = administrator(&server);
    for uri in [
        provider.well_known(),
        "ftp://id.example/".to_owned(),
        "id.example".to_owned(),
        "https://user:secret@id.example/".to_owned(),
    ] {
        let body = json!({"wellKnownConfigUri": uri}).to_string();
        let reported = rest.post(PROVIDERS, body).await;
        let reported = reported.refused(400, "BAD_REQUEST");
        assert!(!reported.to_string().contains("secret"), "{reported}");
    }
}

#[tokio::test]
async fn a_provider_that_was_allowed_once_is_looked_at_again_after_a_restart() {
    let provider = Provider::start().await;
    let mut server = Server::on_disk(&takes_tokens(OPEN));
    register(&administrator(&server), &provider, json!({})).await;
    let token = provider.token(FIRST);
    account(&server, &token).await.ok();
    for closed in [
        &[("CYODA_OIDC_REQUIRE_HTTPS", "false")][..],
        &[("CYODA_OIDC_ALLOW_PRIVATE_NETWORKS", "true")],
    ] {
        server.kill();
        server.restart_with(&takes_tokens(closed));
        let before = provider.asked();
        let rest = administrator(&server);
        let reported = rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
        assert!(reported["providers"][0]["error"].is_string(), "{reported}");
        is_refused(&server, &token, "not allowed any longer").await;
        assert_eq!(provider.asked(), before);
    }
}

#[tokio::test]
async fn a_provider_that_answers_badly_has_no_keys_and_keeps_those_it_had() {
    let mut settings = takes_tokens(OPEN);
    settings.push(("CYODA_OIDC_SOCKET_TIMEOUT_MS", "100"));
    let (server, provider) = (Server::with(&settings), Provider::start().await);
    let rest = administrator(&server);
    register(&rest, &provider, json!({})).await;
    let known = provider.token(FIRST);
    account(&server, &known).await.ok();
    provider.rotate(&[SECOND]);
    let new = provider.token(SECOND);
    let reload = async || {
        let reported = rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
        reported["providers"][0].clone()
    };
    for (whim, says) in [
        (Whim::Redirect, "302"),
        (Whim::Huge, "1048576"),
        (Whim::Silent, "100ms"),
        (Whim::Garbage, "keys"),
        (Whim::Missing, "404"),
    ] {
        provider.has(whim);
        let reported = reload().await;
        let error = reported["error"].as_str().unwrap_or_default();
        assert!(error.contains(says), "{says}: {reported}");
        account(&server, &known).await.ok();
        is_refused(&server, &new, says).await;
    }
    provider.has(Whim::None);
    assert_eq!(reload().await["keys"], 1);
    account(&server, &new).await.ok();
    is_refused(&server, &known, "rotated away").await;
    // Gone altogether: what is known counts for a while.
    drop(provider);
    assert!(reload().await["error"].is_string());
    account(&server, &new).await.ok();
}

#[tokio::test]
async fn only_administrators_read_the_query_of_an_address() {
    let (server, provider) = (open(), Provider::start().await);
    let place = provider.well_known();
    let uri = format!("{place}?apikey=hidden");
    let body = json!({"wellKnownConfigUri": uri}).to_string();
    administrator(&server).post(PROVIDERS, body).await.ok();
    for (role, expected) in [("ROLE_ADMIN", &uri), ("ROLE_USER", &place)] {
        let listed = of_tenant(&server, TENANT, &[role]).get(PROVIDERS).await;
        let listed = listed.ok();
        assert_eq!(listed[0]["wellKnownConfigUri"], json!(expected), "{listed}");
    }
}

#[tokio::test]
async fn what_cannot_be_registered_is_reported() {
    let (server, provider) = (open(), Provider::start().await);
    let rest = administrator(&server);
    let reported = register(&rest, &provider, json!({"issuers": ["a", "b"]})).await;
    assert_eq!(reported["issuers"], json!(["a", "b"]));
    let uri = provider.well_known();
    let again = json!({"wellKnownConfigUri": uri}).to_string();
    rest.post(PROVIDERS, again)
        .await
        .refused(409, "OIDC_PROVIDER_DUPLICATE");
    for body in [
        String::new(),
        "{}".to_owned(),
        "[]".to_owned(),
        json!({"wellKnownConfigUri": 7}).to_string(),
        json!({"wellKnownConfigUri": format!("{uri}{}", "x".repeat(1_000))}).to_string(),
        json!({"wellKnownConfigUri": format!("{uri}/2"), "issuers": vec!["i"; 11]}).to_string(),
        json!({"wellKnownConfigUri": format!("{uri}/2"), "rolesClaim": "x".repeat(101)})
            .to_string(),
    ] {
        rest.post(PROVIDERS, body).await.refused(400, "BAD_REQUEST");
    }
    let huge = json!({"wellKnownConfigUri": uri, "x": "x".repeat(1 << 20)}).to_string();
    rest.post(PROVIDERS, huge).await.refused(400, "BAD_REQUEST");
    let path = path_of(&reported);
    let moved = json!({"wellKnownConfigUri": "https://else.example/"}).to_string();
    rest.send("PATCH", &path, moved)
        .await
        .refused(400, "BAD_REQUEST");
    let no_id = rest.delete(&format!("{PROVIDERS}/first")).await;
    assert_eq!(
        no_id.refused(400, "BAD_REQUEST")["properties"]["parameter"],
        "providerId"
    );
    // A tenant that is no UUID has none, and who may not administer makes none.
    let odd = of_tenant(&server, "acme", &["ROLE_ADMIN"]);
    let body = json!({"wellKnownConfigUri": uri}).to_string();
    odd.post(PROVIDERS, body.clone())
        .await
        .refused(400, "OIDC_INVALID_TENANT");
    odd.get(PROVIDERS).await.refused(400, "OIDC_INVALID_TENANT");
    let reader = of_tenant(&server, TENANT, &["ROLE_READER"]);
    reader
        .post(PROVIDERS, body.clone())
        .await
        .refused(403, "FORBIDDEN");
    reader.get(PROVIDERS).await.ok();
    // While everyone is one caller, nobody is trusted.
    let mocked = Server::start();
    let said = mocked.rest().post(PROVIDERS, body).await;
    said.refused(501, "NOT_IMPLEMENTED");
}

#[tokio::test]
async fn a_provider_must_be_who_its_certificate_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = SecureProvider::start(folder.path()).await;
    let server_trusting = |authority: &std::path::Path| {
        let settings = [
            ("CYODA_OIDC_ALLOW_PRIVATE_NETWORKS", "true"),
            ("SSL_CERT_FILE", authority.to_str().expect("a path")),
        ];
        Server::with(&takes_tokens(&settings))
    };
    let trusting = server_trusting(&provider.authority);
    let rest = administrator(&trusting);
    let body = json!({"wellKnownConfigUri": provider.well_known()}).to_string();
    rest.post(PROVIDERS, body.clone()).await.ok();
    let token = provider.token(FIRST);
    assert_eq!(who(&trusting, &token).await, ("ann".into(), TENANT.into()));
    // Under another name, which the certificate does not have.
    let misnamed = provider.well_known().replace("localhost", "127.0.0.1");
    let misnamed = json!({"wellKnownConfigUri": misnamed}).to_string();
    rest.post(PROVIDERS, misnamed).await.ok();
    let reported = rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
    assert_eq!(reported["providers"][0]["keys"], 1, "{reported}");
    assert!(reported["providers"][1]["error"].is_string(), "{reported}");
    // Where nobody vouches for the certificate.
    let other = server_trusting(&provider.strange_authority);
    let rest = administrator(&other);
    rest.post(PROVIDERS, body).await.ok();
    let reported = rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
    assert!(reported["providers"][0]["error"].is_string(), "{reported}");
    is_refused(&other, &token, "nobody vouches for it").await;
}

#[tokio::test]
async fn each_request_is_an_event_too() {
    let (server, provider) = (open(), Provider::start().await);
    let rest = administrator(&server);
    let reported = rest.post(&format!("{PROVIDERS}/reload"), "").await.ok();
    assert_eq!(reported["providers"], json!([]));
    // The bearer of the gateway's requests, on a stream.
    let token = provider.token_with(FIRST, "roles", json!(["ROLE_ADMIN"]));
    let first = register(&rest, &provider, json!({})).await;
    let bearer = format!("Bearer {token}");
    let connection = server.connect_as(&[("authorization", &bearer)]).await;
    let listed = connection.ok("OidcProvidersGetRequest", json!({})).await;
    assert_eq!(listed["providers"], json!([first]), "{listed}");
    let uri = format!("{}?another", provider.well_known());
    let made = connection
        .ok(
            "OidcProviderRegisterRequest",
            json!({"wellKnownConfigUri": uri, "issuers": ["else"]}),
        )
        .await;
    let id = made["provider"]["id"].clone();
    let one = json!({"providerId": id});
    let changed = connection
        .ok(
            "OidcProviderUpdateRequest",
            json!({"providerId": id, "issuers": []}),
        )
        .await;
    assert!(changed["provider"].get("issuers").is_none(), "{changed}");
    let reported = connection.ok("OidcProvidersReloadRequest", json!({})).await;
    assert_eq!(reported["providers"][1]["keys"], 1, "{reported}");
    for (kind, active) in [
        ("OidcProviderInvalidateRequest", false),
        ("OidcProviderReactivateRequest", true),
    ] {
        let reported = connection.ok(kind, one.clone()).await;
        assert_eq!(reported["provider"]["active"], active, "{kind}: {reported}");
    }
    connection
        .ok("OidcProviderDeleteRequest", one.clone())
        .await;
    let code = connection.fails("OidcProviderDeleteRequest", one).await;
    assert_eq!(code, "OIDC_PROVIDER_NOT_FOUND");
}
