//! Tokens that tests sign themselves (`config-and-cli.md` §9).

use std::{
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

use interlock::auth::SigningKey;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

/// The key of servers that take tokens.
pub(crate) const KEY: &str = include_str!("../../keys/signing.pem");

/// Another key of the right size, which no server here knows.
pub(crate) const STRANGE_KEY: &str = include_str!("../../keys/strange.pem");

/// The settings that make a server take tokens.
pub(crate) const TAKES_TOKENS: [(&str, &str); 2] =
    [("CYODA_IAM_MODE", "jwt"), ("CYODA_JWT_SIGNING_KEY", KEY)];

/// The name of the key of the server.
pub(crate) static KID: LazyLock<String> = LazyLock::new(|| {
    let key = SigningKey::parse(KEY).expect("a key");
    key.public().name.to_string()
});

/// An instant as claims tell it, so many seconds from now.
pub(crate) fn seconds(from_now: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later");
    i64::try_from(now.as_secs()).expect("this age") + from_now
}

/// Claims of a person of that tenant, which are taken for a day.
pub(crate) fn claims_of(tenant: &str, roles: &[&str]) -> Value {
    json!({"sub": "u1", "iss": "cyoda", "caas_user_id": "u1", "caas_org_id": tenant,
        "user_roles": roles, "iat": seconds(0), "exp": seconds(86_400)})
}

/// A token that says so, signed with a key, named by a name.
pub(crate) fn signed(claims: &Value, kid: Option<&str>, pem: &str) -> String {
    let header = Header {
        kid: kid.map(ToOwned::to_owned),
        ..Header::new(Algorithm::RS256)
    };
    let key = EncodingKey::from_rsa_pem(pem.as_bytes()).expect("a key");
    encode(&header, claims, &key).expect("signed")
}

/// What someone of that tenant sends as `authorization`.
pub(crate) fn bearer(tenant: &str, roles: &[&str]) -> String {
    let token = signed(&claims_of(tenant, roles), Some(&KID), KEY);
    format!("Bearer {token}")
}
