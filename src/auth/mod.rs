//! Authentication and permissions.
//!
//! May use: [`crate::id`], [`crate::backoff`], [`crate::clock`], [`crate::error`], [`crate::entity`],
//! [`crate::outgoing`], [`crate::pool`], [`crate::telemetry`].
//! The mode is `mock`, where every caller is one configured caller or, for tests and
//! demonstrations, the one that headers name (`config-and-cli.md` §8); or it is `jwt`, where
//! callers present tokens (`config-and-cli.md` §9).

mod claims;
mod client;
mod directory;
mod exchange;
mod hash;
mod key;
mod login;
pub mod oidc;
mod pair;
mod record;
mod refused;
mod revocation;
mod seal;
mod token;
mod trusted;
mod turns;
mod validity;
mod workbench;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use http::HeaderMap;

use crate::entity::{Actor, ActorKind};
use crate::error::{Code, Failure};
use crate::id::{ProviderId, Tenant};

pub use client::{Client, Registered, Secret};
pub use directory::{Change, Directory, Entry, Known};
pub use hash::Hash;
pub use key::{BadKey, BadNumbers, PublicKey, SigningKey};
pub use login::Login;
pub use pair::{KeyPair, KeyUse, UnknownUse};
pub use record::BadRecord;
pub use revocation::Revocation;
pub use seal::{BadSeal, NotSealed, Seal};
pub use token::{Minted, Refusal, Settings, Tokens};
pub use trusted::{BadJwk, Jwk, TrustedKey};
pub use turns::Peer;
pub use validity::Validity;

/// The role of administrators.
pub const ROLE_ADMIN: &str = "ROLE_ADMIN";

/// The role that may join as a compute member.
pub const ROLE_M2M: &str = "ROLE_M2M";

const TENANT_HEADER: &str = "x-mock-tenant";
const USER_HEADER: &str = "x-mock-user";
const ROLES_HEADER: &str = "x-mock-roles";
const KIND_HEADER: &str = "x-mock-kind";

/// The documented mock caller: ids and names.
const MOCK_TENANT: (&str, &str) = ("mock-tenant", "Mock Tenant");
const MOCK_USER: (&str, &str) = ("mock-user-001", "Mock User");

/// A caller. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub tenant: Tenant,
    pub actor: Actor,
    pub roles: Roles,
}

impl Caller {
    /// The display name of the user: the provider's name for a federated one, otherwise the id,
    /// because nothing else is known.
    pub fn user_name(&self) -> &str {
        let id = &self.actor.name;
        subject_of(id).unwrap_or_else(|| shown(id, MOCK_USER))
    }

    /// The display name of the tenant, likewise.
    pub fn tenant_name(&self) -> &str {
        shown(self.tenant.as_str(), MOCK_TENANT)
    }
}

/// The beginning of the ids of users for whom a provider vouches.
const FEDERATED: &str = "oidc:";

/// The id of a provider's user. It contains the provider's id, so that neither two providers nor a
/// provider and the tenant's own users share an id.
fn federated(provider: ProviderId, subject: &str) -> String {
    format!("{FEDERATED}{provider}:{subject}")
}

/// The provider's name of a user; none for other users.
fn subject_of(id: &str) -> Option<&str> {
    let (provider, subject) = id.strip_prefix(FEDERATED)?.split_once(':')?;
    provider.parse::<ProviderId>().ok().map(|_| subject)
}

fn shown<'a>(id: &'a str, (known, name): (&str, &'static str)) -> &'a str {
    if id == known { name } else { id }
}

/// The roles of a caller, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles(Arc<[Box<str>]>);

impl Roles {
    /// Parses a list separated by commas.
    pub fn parse(list: &str) -> Self {
        Self::of(list.split(',').map(str::trim))
    }

    /// The given roles, without empty ones.
    pub fn of<'a>(roles: impl IntoIterator<Item = &'a str>) -> Self {
        let roles = roles.into_iter().filter(|role| !role.is_empty());
        let each: BTreeSet<&str> = roles.collect();
        Self(each.into_iter().map(Into::into).collect())
    }

    pub fn contain(&self, role: &str) -> bool {
        self.iter().any(|own| own == role)
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    pub fn shared(&self) -> Arc<[Box<str>]> {
        Arc::clone(&self.0)
    }
}

/// What tenants may administer (`config-and-cli.md` §2.5).
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Whether authentication is mocked: then there are no clients, keys and providers.
    pub is_mocked: bool,
    /// Whether clients with the administrator role may be created.
    pub may_make_administrators: bool,
    /// The default validity of key pairs.
    pub key_pair_life: Duration,
    pub trusted_keys: TrustedKeyRules,
}

/// What tenants may do with trusted keys.
#[derive(Debug, Clone, Copy)]
pub struct TrustedKeyRules {
    /// Whether trusted keys are enabled.
    pub are_on: bool,
    /// How many a tenant may have; none for no limit.
    pub max: Option<usize>,
    /// The default validity.
    pub life: Duration,
    /// How many members a JWK may have.
    pub members_max: usize,
}

/// The permission that an operation requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Any authenticated caller.
    Anyone,
    /// A caller with this role.
    Role(&'static str),
    /// Any authenticated caller. The operation itself requires this role for some of the things that
    /// requests name.
    RoleForSome(&'static str),
}

impl Permission {
    pub fn check(self, caller: &Caller) -> Result<(), Failure> {
        match self {
            Self::Role(role) if !caller.roles.contain(role) => {
                Err(Failure::new(Code::Forbidden, format!("{role} required")))
            }
            Self::Role(_) | Self::RoleForSome(_) | Self::Anyone => Ok(()),
        }
    }

    /// The role without which every request is refused; empty, if there is none.
    pub const fn role(self) -> &'static str {
        match self {
            Self::Role(role) => role,
            Self::RoleForSome(_) | Self::Anyone => "",
        }
    }

    /// What the documents say of it; none if any caller may use the operation for anything.
    pub fn sentence(self) -> Option<String> {
        match self {
            Self::Anyone => None,
            Self::Role(role) => Some(format!("Requires the role `{role}`.")),
            Self::RoleForSome(role) => Some(format!(
                "Requires the role `{role}` for some of the things that it may name."
            )),
        }
    }
}

/// Authenticates callers.
#[derive(Debug, Clone)]
pub enum Authenticator {
    /// Every caller is this one.
    Mock(Caller),
    /// Every caller is the one that headers name, with this one as default.
    MockChosen(Caller),
    /// Callers are those named by their tokens.
    Tokens(Tokens),
}

/// The token for any client id and secret in mock mode: a JWT that is not signed, and says so.
const MOCK_TOKEN: &str = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJtb2NrLXVzZXItMDAxIiwiaXNzIjoiY3lvZGEiLCJjYWFzX3VzZXJfaWQiOiJtb2NrLXVzZXItMDAxIiwiY2Fhc19vcmdfaWQiOiJtb2NrLXRlbmFudCJ9.";

/// Its reported lifetime; it is not checked.
const MOCK_TOKEN_LIFE: Duration = Duration::from_hours(1);

impl Authenticator {
    /// Whether authentication is mocked.
    pub const fn is_mocked(&self) -> bool {
        !matches!(self, Self::Tokens(_))
    }

    /// The tenant of the documented mock mode.
    pub fn mock_tenant() -> Tenant {
        MOCK_TENANT.0.into()
    }

    /// The caller of the documented mock mode.
    pub fn mock_caller(roles: Roles, kind: ActorKind) -> Caller {
        Caller {
            tenant: MOCK_TENANT.0.into(),
            actor: Actor {
                kind,
                name: MOCK_USER.0.into(),
            },
            roles,
        }
    }

    /// The caller of these headers or gRPC metadata. Waits only if a provider may have published a
    /// new key.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Failure> {
        self.login(headers).await.map(|login| login.caller)
    }

    /// The caller of these headers or gRPC metadata, with its credentials. Waits only if a provider
    /// may have published a new key.
    pub async fn login(&self, headers: &HeaderMap) -> Result<Login, Failure> {
        match self {
            Self::Mock(caller) => Ok(Login::new(caller.clone(), None)),
            Self::MockChosen(caller) => {
                chosen(caller, headers).map(|caller| Login::new(caller, None))
            }
            Self::Tokens(tokens) => tokens.login(headers).await,
        }
    }

    /// A token for a client with the right secret, requested from that address.
    pub async fn mint(
        &self,
        client: &str,
        secret: &str,
        peer: Peer,
    ) -> Result<Result<Minted, Refusal>, Failure> {
        match self {
            Self::Mock(_) | Self::MockChosen(_) => Ok(Ok(Minted {
                token: MOCK_TOKEN.to_owned(),
                life: MOCK_TOKEN_LIFE,
            })),
            Self::Tokens(tokens) => tokens.mint(client, secret, peer).await,
        }
    }

    /// A token with which a client acts for the subject of another token that its tenant trusts
    /// (RFC 8693).
    pub async fn exchange(
        &self,
        client: &str,
        secret: &str,
        subject: &str,
        peer: Peer,
    ) -> Result<Result<Minted, Refusal>, Failure> {
        match self {
            Self::Mock(_) | Self::MockChosen(_) => self.mint(client, secret, peer).await,
            Self::Tokens(tokens) => tokens.exchange(client, secret, subject, peer).await,
        }
    }

    /// Reports in the log and the metrics that a token was refused, to one of these clients.
    pub fn report_refusal<'a>(
        &self,
        clients: impl IntoIterator<Item = &'a str>,
        peer: Peer,
        refusal: Refusal,
    ) {
        if let Self::Tokens(tokens) = self {
            tokens.report_refusal(clients, peer, refusal);
        }
    }

    /// The token service; none in mock mode.
    pub const fn tokens(&self) -> Option<&Tokens> {
        match self {
            Self::Mock(_) | Self::MockChosen(_) => None,
            Self::Tokens(tokens) => Some(tokens),
        }
    }

    /// The keys that verify tokens, as JWKs; none in mock mode.
    pub fn keys(&self) -> Option<Vec<String>> {
        match self {
            Self::Mock(_) | Self::MockChosen(_) => None,
            Self::Tokens(tokens) => Some(tokens.keys()),
        }
    }
}

/// The failure of a stream whose caller's credentials were revoked.
pub fn withdrawn() -> Failure {
    Failure::new(
        Code::Unauthorized,
        "the caller's credentials were revoked; authenticate again",
    )
}

/// The only answer to a caller who is not authenticated (`errors.md` §1).
fn unknown() -> Failure {
    Failure::new(Code::Unauthorized, "authentication failed")
}

fn chosen(default: &Caller, headers: &HeaderMap) -> Result<Caller, Failure> {
    let header = |name: &str| match headers.get(name).map(http::HeaderValue::to_str) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(_)) => Err(unknown()),
    };
    let kind = match header(KIND_HEADER)? {
        Some(kind) => kind.parse().map_err(|_| unknown())?,
        None => default.actor.kind,
    };
    Ok(Caller {
        tenant: header(TENANT_HEADER)?.map_or_else(|| default.tenant.clone(), Into::into),
        actor: Actor {
            kind,
            name: header(USER_HEADER)?.map_or_else(|| Arc::clone(&default.actor.name), Into::into),
        },
        roles: header(ROLES_HEADER)?.map_or_else(|| default.roles.clone(), Roles::parse),
    })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn authenticate(
        authenticator: &Authenticator,
        headers: &[(&'static str, &str)],
    ) -> Result<Caller, Failure> {
        let headers = headers.iter().map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, value.parse().expect("a header"))
        });
        let caller = authenticator.caller(&headers.collect()).now_or_never();
        caller.expect("nobody is waited for")
    }

    #[test]
    fn headers_choose_the_caller_only_where_that_is_allowed() {
        let caller =
            Authenticator::mock_caller(Roles::parse("ROLE_ADMIN, ROLE_M2M"), ActorKind::User);
        let headers = [
            ("x-mock-tenant", "other"),
            ("x-mock-roles", ""),
            ("x-mock-kind", "service"),
        ];
        let fixed = Authenticator::Mock(caller.clone());
        assert_eq!(authenticate(&fixed, &headers).expect("someone"), caller);
        let free = Authenticator::MockChosen(caller.clone());
        assert_eq!(authenticate(&free, &[]).expect("someone"), caller);
        let other = authenticate(&free, &headers).expect("someone");
        assert_eq!(
            (other.tenant.as_str(), other.actor.kind),
            ("other", ActorKind::Service)
        );
        assert_eq!(other.actor.name, caller.actor.name);
        assert!(
            Permission::Role(ROLE_M2M).check(&other).is_err()
                && Permission::Role(ROLE_M2M).check(&caller).is_ok()
        );
        let unknown = authenticate(&free, &[("x-mock-kind", "robot")]).expect_err("no such kind");
        assert_eq!(unknown.code(), Code::Unauthorized);
    }
}
