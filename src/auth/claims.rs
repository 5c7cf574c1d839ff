//! The claims of tokens (`config-and-cli.md` §9).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Caller, Roles};
use crate::entity::{Actor, ActorKind};

/// How long the name of a user or tenant may be, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 512;

/// The claims of a token that are read and issued.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claims {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sub: Option<String>,
    #[serde(default)]
    pub(super) iss: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) caas_user_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) caas_org_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user_roles: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scopes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) caas_tier: Option<String>,
    /// Seconds since 1970, like the two that follow.
    pub(super) exp: i64,
    pub(super) iat: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) nbf: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) jti: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) aud: Option<Audience>,
    /// The actor for the user: the client that exchanged a token (RFC 8693 §4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) act: Option<Value>,
    /// The trusted key that signed the exchanged token, and when it was registered, in microseconds
    /// since 1970: another key of that name is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subject_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subject_key_registered: Option<i64>,
    /// Which of the client's secrets it was issued for: times do not tell it for those issued while
    /// the secret is being replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret_since: Option<i64>,
}

/// The claims of a subject token from elsewhere. Further claims are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct SubjectClaims {
    #[serde(default)]
    pub(super) sub: Option<String>,
    #[serde(default)]
    pub(super) iss: Option<String>,
    #[serde(default)]
    pub(super) caas_org_id: Option<String>,
    #[serde(default)]
    pub(super) user_roles: Option<Vec<String>>,
    /// Seconds since 1970, like the two that follow.
    pub(super) exp: i64,
    #[serde(default)]
    pub(super) iat: Option<i64>,
    #[serde(default)]
    pub(super) nbf: Option<i64>,
}

/// The audience of a token: one text or a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Claims {
    /// The `act` claim of a client that acts for a user.
    pub(super) fn acting(client: &str) -> Value {
        json!({"sub": client})
    }

    /// The client to which the token was issued, for itself or for the user for whom it acts.
    pub(super) fn client(&self) -> Option<&str> {
        if self.user_roles.is_none() && self.scopes.is_some() {
            return self.sub.as_deref();
        }
        self.act.as_ref()?.get("sub")?.as_str()
    }

    /// The caller named by the claims; none without a user or a tenant, or if a name is too long.
    pub(super) fn caller(&self) -> Option<Caller> {
        fn given(text: Option<&String>) -> Option<&str> {
            text.map(String::as_str)
                .filter(|text| (1..=NAME_BYTES_MAX).contains(&text.len()))
        }
        let user = given(self.caas_user_id.as_ref()).or_else(|| given(self.sub.as_ref()))?;
        let tenant = given(self.caas_org_id.as_ref())?;
        let roles = self.user_roles.as_ref().filter(|roles| !roles.is_empty());
        let roles = roles.or(self.scopes.as_ref());
        Some(Caller {
            tenant: tenant.into(),
            actor: Actor {
                kind: if self.user_roles.is_none() && self.scopes.is_some() {
                    ActorKind::Service
                } else {
                    ActorKind::User
                },
                name: user.into(),
            },
            roles: Roles::of(roles.into_iter().flatten().map(String::as_str)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_name_the_client_that_has_the_token() {
        let of = |claims: &str| {
            let claims: Claims = serde_json::from_str(claims).expect("claims");
            claims.client().map(str::to_owned)
        };
        for (claims, client) in [
            (r#"{"exp":1,"iat":1,"sub":"c","scopes":[]}"#, Some("c")),
            (
                r#"{"exp":1,"iat":1,"sub":"u","user_roles":[],"act":{"sub":"c"}}"#,
                Some("c"),
            ),
            (
                r#"{"exp":1,"iat":1,"sub":"u","user_roles":[],"scopes":[]}"#,
                None,
            ),
            (r#"{"exp":1,"iat":1,"sub":"u"}"#, None),
            (r#"{"exp":1,"iat":1,"sub":"u","act":"c"}"#, None),
            (r#"{"exp":1,"iat":1,"sub":"u","act":{"sub":1}}"#, None),
        ] {
            assert_eq!(of(claims).as_deref(), client, "{claims}");
        }
    }

    #[test]
    fn claims_name_a_caller_as_documented() {
        let roles = |list: &[&str]| Some(list.iter().map(ToString::to_string).collect());
        let named = |claims: &Claims| {
            let caller = claims.caller()?;
            let roles: Vec<_> = caller.roles.iter().map(str::to_owned).collect();
            Some((caller.actor.name.to_string(), caller.actor.kind, roles))
        };
        let full = Claims {
            sub: Some("s".to_owned()),
            caas_user_id: Some("u".to_owned()),
            caas_org_id: Some("t".to_owned()),
            user_roles: roles(&["A"]),
            scopes: roles(&["B"]),
            ..Claims::default()
        };
        let is = |name: &str, kind, list: &[&str]| {
            let list = list.iter().map(ToString::to_string).collect();
            Some((name.to_owned(), kind, list))
        };
        assert_eq!(named(&full), is("u", ActorKind::User, &["A"]));
        let none = Claims {
            user_roles: roles(&[]),
            ..full.clone()
        };
        assert_eq!(named(&none), is("u", ActorKind::User, &["B"]));
        let service = Claims {
            user_roles: None,
            caas_user_id: None,
            ..full.clone()
        };
        assert_eq!(named(&service), is("s", ActorKind::Service, &["B"]));
        for nobody in [
            Claims {
                caas_org_id: None,
                ..full.clone()
            },
            Claims {
                caas_org_id: Some(String::new()),
                ..full.clone()
            },
            Claims {
                sub: None,
                caas_user_id: None,
                ..full
            },
        ] {
            assert_eq!(named(&nobody), None);
        }
    }
}
