//! Identifiers: one type for each kind.
//!
//! May use: nothing of this crate.
//! Identifiers that we make are UUIDs of version 7, so that indexes over them append
//! (`architecture.md` §4); clients read them as opaque.

use std::{fmt, str::FromStr, sync::Arc};

use uuid::Uuid;

/// A text that is not a UUID.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{0}` is not a UUID")]
pub struct NotAUuid(pub String);

/// The namespace of what names none (`runs.md` §2).
pub const DEFAULT_NAMESPACE: &str = "default";

/// Which texts name a namespace, for messages.
pub const NAMESPACE_RULE: &str = "1 to 64 letters, digits, dots, hyphens or underscores";

/// Whether a text names a namespace.
pub fn is_namespace(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// The identifier used where none exists.
            pub const NIL: Self = Self(Uuid::nil());

            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAUuid;

            fn from_str(text: &str) -> Result<Self, NotAUuid> {
                Uuid::try_parse(text).map(Self).map_err(|_| NotAUuid(text.to_owned()))
            }
        }
    )*};
}

macro_rules! fresh_ids {
    ($($name:ident)*) => {$(
        impl $name {
            /// A new identifier, greater than those made before it by this process.
            pub fn fresh() -> Self {
                Self(Uuid::now_v7())
            }
        }
    )*};
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self(name.into())
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                Self(name.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}

uuid_ids! {
    /// Identifies an entity.
    EntityId;
    /// Identifies a unit of work; part of the token with which members call back.
    TransactionId;
    /// Identifies a model; derived from its name and version, the same for every tenant.
    ModelId;
    /// Identifies a membership: a stream on which a compute member has joined.
    MemberId;
    /// Identifies one attempt to call a member.
    CallId;
    /// Identifies a call to a member, the same for all its attempts.
    DispatchKey;
    /// Identifies an internal error in the log.
    Ticket;
    /// Identifies an event that the server sends.
    MessageId;
    /// Identifies a stored message (`rest.md` §6).
    EdgeMessageId;
    /// Identifies a background search.
    JobId;
    /// Identifies an `OpenID` Connect provider.
    ProviderId;
}

/// Identifies a run: a number that grows with the time at which the run was created
/// (`runs.md` §3). Clients read its text as opaque.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(i64);

impl RunId {
    /// What the text of an identifier begins with that nobody chose.
    pub const PREFIX: &'static str = "wfrun-";

    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    pub const fn number(self) -> i64 {
        self.0
    }

    /// What the identifier of a run of a saga begins with.
    pub const SAGA_PREFIX: &'static str = "wf_";

    /// The identifier of a run of a saga, as callers see it; others are displayed.
    pub fn saga_text(self) -> String {
        format!("{}{}", Self::SAGA_PREFIX, self.0)
    }

    /// The identifier whose text this is; none of a text that somebody chose.
    pub fn parse(text: &str) -> Option<Self> {
        let prefixes = [Self::PREFIX, Self::SAGA_PREFIX];
        let digits = prefixes
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))?;
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        digits.parse().ok().filter(|_| is_plain).map(Self)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

fresh_ids! { EntityId TransactionId MemberId CallId DispatchKey Ticket MessageId EdgeMessageId JobId ProviderId }

names! {
    /// A tenant: the legal entity that owns models, entities and members.
    Tenant;
    /// A state of a workflow.
    StateName;
    /// A transition, unique within its state.
    TransitionName;
    /// A workflow, unique within its model.
    WorkflowName;
    /// A processor, as members know it.
    ProcessorName;
    /// A function of a member: a criterion or a schedule.
    FunctionName;
}

/// Unguessable bytes.
pub fn secret() -> [u8; 32] {
    let mut secret = [0; 32];
    let (one, other) = secret.split_at_mut(16);
    one.copy_from_slice(Uuid::new_v4().as_bytes());
    other.copy_from_slice(Uuid::new_v4().as_bytes());
    secret
}

/// Identifies one model of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelKey {
    pub name: Arc<str>,
    pub version: i32,
}

impl ModelKey {
    pub fn new(name: &str, version: i32) -> Self {
        Self {
            name: name.into(),
            version,
        }
    }

    /// The documented identifier: version 5 over `<name>.<version>` in the URL namespace
    /// (`models-and-entities.md` §1).
    pub fn id(&self) -> ModelId {
        let name = format!("{}.{}", self.name, self.version);
        ModelId(Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()))
    }
}

impl fmt::Display for ModelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_id_is_the_documented_one() {
        let id = ModelKey::new("parcel", 2).id();
        assert_eq!(id.to_string(), "f8b37c28-1e72-5b2d-917d-101740a5734c");
    }

    #[test]
    fn fresh_ids_ascend() {
        let ids: Vec<_> = (0..1_000).map(|_| EntityId::fresh()).collect();
        assert!(ids.is_sorted());
    }
}
