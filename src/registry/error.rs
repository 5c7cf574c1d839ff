//! Why the registry did not do what was asked.

use std::sync::Arc;

use super::FileVersion;
use crate::error::{Code, Coded, Properties};
use crate::storage;

/// Why the registry did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no definition is named \"{name}\" in the namespace \"{namespace}\"; create it first")]
    DefinitionNotFound { namespace: Arc<str>, name: Arc<str> },
    #[error(
        "the definition \"{name}\" has no version \"{version}\"; leave the version out to use the latest"
    )]
    VersionNotFound { name: Arc<str>, version: Arc<str> },
    #[error("the definition \"{name}\" is disabled; enable it first")]
    Disabled { name: Arc<str> },
    #[error("version \"{version}\" of the definition \"{name}\" is disabled; enable it first")]
    VersionDisabled { name: Arc<str>, version: Arc<str> },
    #[error(
        "the definition \"{name}\" is a saga; it is deleted with the bundle that it belongs to"
    )]
    OfBundle { name: Arc<str> },
    #[error("no action is named \"{name}\" in the namespace \"{namespace}\"; register it first")]
    ActionNotFound { namespace: Arc<str>, name: Arc<str> },
    #[error("no bundle is named \"{name}\" in the namespace \"{namespace}\"; apply it first")]
    BundleNotFound { namespace: Arc<str>, name: Arc<str> },
    #[error(
        "no file is at {path} in the namespace \"{namespace}\"; list the files to see which are there"
    )]
    FileNotFound { namespace: Arc<str>, path: Arc<str> },
    #[error(
        "the file {path} is not at the version that the change is based on; read it again, then write again"
    )]
    FileModified {
        path: Arc<str>,
        /// None if it is not there.
        version: Option<FileVersion>,
    },
    #[error("no file can be at {path}: {what}; choose another path")]
    NotAFile { path: Arc<str>, what: &'static str },
    #[error("the file {path} cannot be read or written: {reason}")]
    FileUnusable { path: Arc<str>, reason: Arc<str> },
    #[error(
        "{path} in the folder of the namespace cannot be read or written: {reason}; correct that, then try again"
    )]
    Folder { path: Arc<str>, reason: Arc<str> },
    #[error(
        "the variables of bundles need the key file {path}, which cannot be used: {reason}; correct that, or set INTERLOCK_KEY_ENCRYPTION_KEY"
    )]
    NoKey { path: Arc<str>, reason: Arc<str> },
    #[error(
        "the variables of bundles cannot be sealed or read without a key that outlives the process; set INTERLOCK_KEY_ENCRYPTION_KEY"
    )]
    NoKeyGiven,
    #[error("a variable could not be sealed")]
    NotSealed,
    #[error(
        "the stored variable \"{name}\" was sealed with another key; use the key file that belongs to the database, or the INTERLOCK_KEY_ENCRYPTION_KEY that it was sealed with"
    )]
    OtherKey { name: Arc<str> },
    #[error("the stored {what} \"{name}\" cannot be read")]
    Unreadable { what: &'static str, name: Arc<str> },
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

impl Error {
    /// Whether the variables of bundles cannot be decrypted until an operator gives the key.
    pub const fn lacks_key(&self) -> bool {
        matches!(
            self,
            Self::NoKey { .. } | Self::NoKeyGiven | Self::OtherKey { .. }
        )
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::DefinitionNotFound { .. } | Self::VersionNotFound { .. } => {
                Code::RunDefinitionNotFound
            }
            Self::Disabled { .. } | Self::VersionDisabled { .. } => Code::RunDefinitionDisabled,
            Self::OfBundle { .. } | Self::NotAFile { .. } => Code::BadRequest,
            Self::ActionNotFound { .. } => Code::ActionNotFound,
            Self::BundleNotFound { .. } => Code::BundleNotFound,
            Self::FileNotFound { .. } => Code::FileNotFound,
            Self::FileModified { .. } => Code::EntityModified,
            Self::FileUnusable { .. } => Code::ValidationFailed,
            Self::Folder { .. } => Code::StorageUnavailable,
            Self::Unreadable { .. }
            | Self::OtherKey { .. }
            | Self::NoKey { .. }
            | Self::NoKeyGiven
            | Self::NotSealed => Code::ServerError,
            Self::Storage(error) => error.code(),
        }
    }

    fn properties(&self) -> Properties {
        match self {
            Self::DefinitionNotFound { name, .. }
            | Self::ActionNotFound { name, .. }
            | Self::BundleNotFound { name, .. }
            | Self::Disabled { name }
            | Self::OfBundle { name } => vec![("name", (&**name).into())],
            Self::VersionNotFound { name, version } | Self::VersionDisabled { name, version } => {
                vec![("name", (&**name).into()), ("version", (&**version).into())]
            }
            Self::FileNotFound { path, .. }
            | Self::NotAFile { path, .. }
            | Self::FileUnusable { path, .. }
            | Self::Folder { path, .. } => vec![("path", (&**path).into())],
            Self::FileModified { path, version } => {
                let version = version.as_ref().map(ToString::to_string);
                vec![("path", (&**path).into()), ("version", version.into())]
            }
            Self::Unreadable { .. }
            | Self::OtherKey { .. }
            | Self::NoKey { .. }
            | Self::NoKeyGiven
            | Self::NotSealed => Properties::new(),
            Self::Storage(error) => error.properties(),
        }
    }
}
