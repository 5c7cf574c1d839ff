//! Callers who bear tokens.

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use super::{
    Rest, Said, Server,
    token::{self, KEY, KID, claims_of},
};

/// The client of the settings, its secret and its tenant.
pub(crate) const FIRST: (&str, &str) = ("first", "s3cret/with:odd+signs");
pub(crate) const TENANT: &str = "acme";

/// A server whose callers bear tokens.
pub(crate) const SETTINGS: &[(&str, &str)] = &[
    ("CYODA_IAM_MODE", "jwt"),
    ("CYODA_JWT_SIGNING_KEY", KEY),
    ("CYODA_BOOTSTRAP_CLIENT_ID", FIRST.0),
    ("CYODA_BOOTSTRAP_CLIENT_SECRET", FIRST.1),
    ("CYODA_BOOTSTRAP_TENANT_ID", TENANT),
];

/// The same with more settings.
pub(crate) fn settings<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [SETTINGS, more].concat()
}

pub(crate) fn basic(client: &str, secret: &str) -> String {
    let pair = format!("{client}:{secret}");
    format!("Basic {}", BASE64_STANDARD.encode(pair))
}

/// Asks for a token.
pub(crate) async fn ask(rest: &Rest, client: &str, secret: &str) -> Said {
    rest.with("authorization", &basic(client, secret))
        .with("content-type", "application/x-www-form-urlencoded")
        .post("/api/oauth/token", "grant_type=client_credentials")
        .await
}

/// A token for a client that must get one.
pub(crate) async fn token(rest: &Rest, client: &str, secret: &str) -> String {
    let granted = ask(rest, client, secret).await.ok();
    text(&granted["access_token"])
}

/// What a token says, and the name of the key that signed it.
pub(crate) fn claims(token: &str) -> (Value, String) {
    let parts: Vec<Value> = token
        .split('.')
        .take(2)
        .map(|part| BASE64_URL_SAFE_NO_PAD.decode(part).expect("base64"))
        .map(|part| serde_json::from_slice(&part).expect("JSON"))
        .collect();
    (parts[1].clone(), text(&parts[0]["kid"]))
}

/// REST for who bears a token.
pub(crate) fn bearing(server: &Server, token: &str) -> Rest {
    server
        .rest()
        .with("authorization", &format!("Bearer {token}"))
}

/// REST for an administrator of a tenant, whose token was made elsewhere with the key of the
/// settings.
pub(crate) fn admin(server: &Server, tenant: &str) -> Rest {
    bearing(server, &signed(&claims_of(tenant, &["ROLE_ADMIN"])))
}

/// A token that says so, signed with the key of the settings.
pub(crate) fn signed(claims: &Value) -> String {
    token::signed(claims, Some(&KID), KEY)
}

/// Whether a token is taken, which all APIs must agree on.
pub(crate) async fn is_taken(server: &Server, token: &str) -> bool {
    let said = bearing(server, token).get("/api/account").await;
    let bearer = format!("Bearer {token}");
    let bearer: tonic::metadata::MetadataValue<_> = bearer.parse().expect("text");
    let event = super::request("AccountGetRequest", "1", json!({}));
    let mut call = tonic::Request::new(event.into());
    call.metadata_mut().insert("authorization", bearer);
    let called = super::client(server.grpc).await.entity_search(call).await;
    let is_taken = said.status == 200;
    assert_eq!(is_taken, called.is_ok(), "{said:?} {called:?}");
    if !is_taken {
        said.refused(401, "UNAUTHORIZED");
    }
    is_taken
}

/// A member that must be a text.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Whether anything that a server has stored has these bytes, or its log has them.
pub(crate) fn leaks(server: &Server, secret: &str) -> bool {
    let folder = std::fs::read_dir(server.stored_files()).expect("readable");
    let mut files = vec![];
    let mut folders: Vec<_> = folder
        .map(|entry| entry.expect("readable").path())
        .collect();
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            let inside = std::fs::read_dir(path).expect("readable");
            folders.extend(inside.map(|entry| entry.expect("readable").path()));
        } else {
            files.push(path);
        }
    }
    assert!(!files.is_empty(), "it has stored something");
    let is_in = |bytes: &[u8]| memchr::memmem::find(bytes, secret.as_bytes()).is_some();
    files
        .iter()
        .any(|file| is_in(&std::fs::read(file).expect("readable")))
        || server
            .log
            .lock()
            .expect("no panic")
            .iter()
            .any(|line| line.contains(secret))
}
