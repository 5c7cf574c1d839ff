//! What runs are made of: definitions with their compiled programs, what starts them by itself, and
//! actions; and files.
//!
//! May use: [`crate::id`], [`crate::clock`], [`crate::error`], [`crate::entity`], [`crate::expr`],
//! [`crate::program`], [`crate::dialect`], [`crate::storage`], [`crate::auth`],
//! [`crate::connector`], [`crate::workflow`], [`crate::pool`], [`crate::text`].
//! Everything here is a record of a tenant and namespace. What decides something in a unit of work
//! is read by the unit, so that the unit gets a conflict if it changes before the commit. What was
//! parsed of a record is kept in memory for as long as the record stays the same.

mod action;
pub mod bundle;
mod change;
mod definition;
mod error;
mod file;
mod folder;
mod head;
mod intent;
mod new;
pub mod producer;
mod sealing;

use std::sync::Arc;

use crate::storage::Storage;

pub use action::{Action, ActionDispatch, WasmAction, put_module};
pub use change::{Change, Created, Enabled, delete, set_enabled};
pub use definition::{Definition, Described, Listed};
pub use error::Error;
pub use file::{Expected, File, FileVersion, ListedFile};
pub use folder::{Folder, FolderError, FolderTurn, Found};
pub use head::{DefinitionKind, Idempotency};
pub use intent::{IntendedItem, Intent};
pub use new::{KeptFinding, NewDefinition};
pub use sealing::Sealing;

use bundle::{Connectors, KnownRoutes, Mirrors};
use definition::{Heads, Programs};

/// Reads what runs are made of; cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    storage: Storage,
    heads: Heads,
    programs: Programs,
    connectors: Connectors,
    mirrors: Mirrors,
    routes: KnownRoutes,
    sealing: Sealing,
    /// The files of one namespace, if a folder has them.
    folder: Option<Folder>,
}

impl Registry {
    pub fn new(storage: Storage, sealing: Sealing, folder: Option<Folder>) -> Self {
        Self(Arc::new(Inner {
            storage,
            heads: definition::heads(),
            programs: definition::programs(),
            connectors: bundle::known_connectors(),
            mirrors: bundle::known_mirrors(),
            routes: KnownRoutes::default(),
            sealing,
            folder,
        }))
    }
}
