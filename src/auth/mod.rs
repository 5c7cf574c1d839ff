//! Who is calling, and what they may do.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::entity`].
//! The mode is `mock`, where everyone is one configured caller or, for tests and demonstrations,
//! whom the headers name (`config-and-cli.md` §8); or it is `jwt`, where callers bear tokens (§9).

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
mod seal;
mod standing;
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
pub use seal::{BadSeal, NotSealed, Seal};
pub use standing::Standing;
pub use token::{Minted, Refusal, Settings, Tokens};
pub use trusted::{BadJwk, Jwk, TrustedKey};
pub use turns::Peer;
pub use validity::Validity;

/// The role that may administer.
pub const ROLE_ADMIN: &str = "ROLE_ADMIN";

/// The role that may join as a compute member.
pub const ROLE_M2M: &str = "ROLE_M2M";

const TENANT_HEADER: &str = "x-mock-tenant";
const USER_HEADER: &str = "x-mock-user";
const ROLES_HEADER: &str = "x-mock-roles";
const KIND_HEADER: &str = "x-mock-kind";

/// The documented mock caller: ids and what is shown of them.
const MOCK_TENANT: (&str, &str) = ("mock-tenant", "Mock Tenant");
const MOCK_USER: (&str, &str) = ("mock-user-001", "Mock User");

/// Someone who calls. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub tenant: Tenant,
    pub actor: Actor,
    pub roles: Roles,
}

impl Caller {
    /// What people call the user: for one of a provider the name that it has there, else the id,
    /// where nothing else is known.
    pub fn user_name(&self) -> &str {
        let id = &self.actor.name;
        subject_of(id).unwrap_or_else(|| shown(id, MOCK_USER))
    }

    /// What people call the tenant; likewise.
    pub fn tenant_name(&self) -> &str {
        shown(self.tenant.as_str(), MOCK_TENANT)
    }
}

/// What the ids of users begin with for whom a provider of tokens vouches.
const FEDERATED: &str = "oidc:";

/// The id of the user of that name at a provider. It says which provider vouches, so that no two of
/// them, and no user of the tenant's own, can have one id.
fn federated(provider: ProviderId, subject: &str) -> String {
    format!("{FEDERATED}{provider}:{subject}")
}

/// The name that the user of that id has at its provider; none for users of other kinds.
fn subject_of(id: &str) -> Option<&str> {
    let (provider, subject) = id.strip_prefix(FEDERATED)?.split_once(':')?;
    provider.parse::<ProviderId>().ok().map(|_| subject)
}

fn shown<'a>(id: &'a str, (known, name): (&str, &'static str)) -> &'a str {
    if id == known { name } else { id }
}

/// The roles of a caller, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles(Arc<[Box<str>]>);

impl Roles {
    /// Reads a list separated by commas.
    pub fn parse(list: &str) -> Self {
        Self::of(list.split(',').map(str::trim))
    }

    /// Those roles, without empty ones.
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

/// What tenants may do about who calls for them (`config-and-cli.md` §2.5).
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Whether clients may be made that administer.
    pub may_make_administrators: bool,
    /// How long key pairs are valid, if nothing is said of that.
    pub key_pair_life: Duration,
    pub trusted_keys: TrustedKeyRules,
}

/// What tenants may do about the keys that they trust.
#[derive(Debug, Clone, Copy)]
pub struct TrustedKeyRules {
    /// Whether they may do anything at all.
    pub are_on: bool,
    /// How many a tenant may have; any number, if it is not said.
    pub max: Option<usize>,
    /// How long they are valid, if nothing is said of that.
    pub life: Duration,
    /// How many members a JWK may have.
    pub members_max: usize,
}

/// What an operation asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// To be someone.
    Anyone,
    /// To have a role.
    Role(&'static str),
}

impl Permission {
    pub fn check(self, caller: &Caller) -> Result<(), Failure> {
        match self {
            Self::Role(role) if !caller.roles.contain(role) => {
                Err(Failure::new(Code::Forbidden, format!("{role} required")))
            }
            Self::Role(_) | Self::Anyone => Ok(()),
        }
    }
}

/// Finds out who is calling.
#[derive(Debug, Clone)]
pub enum Authenticator {
    /// Everyone is this caller.
    Mock(Caller),
    /// Everyone is whom the headers name, and this caller where they do not say.
    MockChosen(Caller),
    /// Everyone is who their token says.
    Tokens(Tokens),
}

/// What a client gets for any name and secret while nobody looks at tokens: a JWT that is not
/// signed, and says so.
const MOCK_TOKEN: &str = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJtb2NrLXVzZXItMDAxIiwiaXNzIjoiY3lvZGEiLCJjYWFzX3VzZXJfaWQiOiJtb2NrLXVzZXItMDAxIiwiY2Fhc19vcmdfaWQiOiJtb2NrLXRlbmFudCJ9.";

/// How long it is said to be good: nobody looks.
const MOCK_TOKEN_LIFE: Duration = Duration::from_hours(1);

impl Authenticator {
    /// Whether callers are taken at their word.
    pub const fn is_mocked(&self) -> bool {
        !matches!(self, Self::Tokens(_))
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

    /// Who sent these headers, or gRPC metadata. Waits only where a provider of tokens may have
    /// made a key that is not known yet.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Failure> {
        self.login(headers).await.map(|login| login.caller)
    }

    /// The same, with what that rests on.
    pub async fn login(&self, headers: &HeaderMap) -> Result<Login, Failure> {
        match self {
            Self::Mock(caller) => Ok(Login::new(caller.clone(), None)),
            Self::MockChosen(caller) => {
                chosen(caller, headers).map(|caller| Login::new(caller, None))
            }
            Self::Tokens(tokens) => tokens.login(headers).await,
        }
    }

    /// A token for a client that knows its secret, asked for from there.
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

    /// A token for a client that knows its secret, with which it acts for who has got another token
    /// from where the client's tenant trusts it to come from (RFC 8693).
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

    /// What knows tokens; none where nobody looks at them.
    pub const fn tokens(&self) -> Option<&Tokens> {
        match self {
            Self::Mock(_) | Self::MockChosen(_) => None,
            Self::Tokens(tokens) => Some(tokens),
        }
    }

    /// The keys that check tokens, as JWKs; none where nobody looks at them.
    pub fn keys(&self) -> Option<Vec<String>> {
        match self {
            Self::Mock(_) | Self::MockChosen(_) => None,
            Self::Tokens(tokens) => Some(tokens.keys()),
        }
    }
}

/// What a stream is told that ends because its caller may no longer call.
pub fn withdrawn() -> Failure {
    Failure::new(
        Code::Unauthorized,
        "what the caller authenticated with was revoked; authenticate again",
    )
}

/// The one answer to whoever could be nobody (`errors.md` §1).
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
