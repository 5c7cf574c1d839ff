//! Managers: batches in files that people read and edit (`orchestration.md` chapter 3).
//!
//! A tick is a function of the registry, the documents and how the work stands that was started.
//! Documents are changed where they stand, so that whatever people have written in them stays as
//! it was.

mod control;
mod document;
mod path;
mod registry;
mod status;
mod text;
mod tick;
mod wanted;

pub use control::{Part, UnknownPart};
pub use document::{Item, Manager, NotAManager, Worker};
pub use path::{FilePath, PathError, check_prefix};
pub use registry::{Filed, Registry};
pub use status::{ManagerStatus, WorkStatus};
pub use text::text_of;
pub use tick::{ItemRef, Seen, Start, Starts, StateFile, Work};
pub use wanted::{WrongPayload, wanted, wanted_in};

/// The path of the registry.
pub const REGISTRY: &str = "/states/global_state_manager.json";

/// What the paths of managers begin with.
pub const MANAGERS: &str = "/states/managers/";

/// The path of a manager's file.
///
/// # Errors
/// No file has that name.
pub fn path_of(manager: &str) -> Result<FilePath, PathError> {
    if manager.contains('/') {
        return Err(PathError::Character('/'));
    }
    FilePath::parse(&format!("{MANAGERS}{manager}"))
}

/// The name of the manager's file at a path; none of other files.
pub fn manager_at(path: &str) -> Option<&str> {
    path.strip_prefix(MANAGERS)
        .filter(|name| !name.is_empty() && !name.contains('/'))
}

/// Whether a file of that name in the folder of managers is one, where people edit the folder: what
/// their editors leave beside it, such as backups, is not.
pub fn is_manager_in_folder(name: &str) -> bool {
    std::path::Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "json")
}

#[cfg(test)]
mod tests;
