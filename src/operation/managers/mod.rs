//! Managers: batches in files, and their ticks (`runs.md` §8).

mod control;
mod create;
mod get;
mod list;
mod tick;

pub(super) use control::ControlManager;
pub(super) use create::CreateManager;
pub(super) use get::GetManager;
pub(super) use list::ListManagers;
pub(super) use tick::TickManagers;

use std::sync::Arc;

use super::{Context, conditions};
use crate::dialect::managers::{FilePath, MANAGERS, Manager, NotAManager, path_of};
use crate::error::{Code, Failure};
use crate::pool::AT_ONCE_BYTES_MAX;
use crate::registry;

/// Reads the document of a manager.
async fn read(cx: &Context, text: Arc<str>) -> Result<Result<Manager, NotAManager>, Failure> {
    if text.len() <= AT_ONCE_BYTES_MAX {
        return Ok(Manager::read(&text));
    }
    Box::pin(conditions::reading(cx, move || Manager::read(&text))).await
}

/// The file of a manager that a request names.
fn file(namespace: &str, manager: &str) -> Result<FilePath, Failure> {
    path_of(manager).map_err(|_| not_found(namespace, manager))
}

fn not_found(namespace: &str, manager: &str) -> Failure {
    let message = format!(
        "no manager has the file {MANAGERS}{manager} in the namespace \"{namespace}\"; list the \
         managers"
    );
    Failure::new(Code::ManagerNotFound, message).with("manager", manager)
}

/// That the file of a manager is not there is that the manager is not there.
fn of_manager(failure: registry::Error, namespace: &str, manager: &str) -> Failure {
    if matches!(failure, registry::Error::FileNotFound { .. }) {
        return not_found(namespace, manager);
    }
    failure.into()
}
