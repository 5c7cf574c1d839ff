//! Files: JSON documents under paths (`runs.md` §8).

mod delete;
mod get;
mod list;
mod put;

pub(super) use delete::DeleteFile;
pub(super) use get::GetFile;
pub(super) use list::ListFiles;
pub(super) use put::PutFile;

use crate::dialect::managers::{FilePath, PathError};
use crate::error::Failure;

/// The path that a request names.
fn path(given: &str) -> Result<FilePath, Failure> {
    FilePath::parse(given).map_err(|error| malformed("path", given, &error))
}

fn malformed(parameter: &'static str, given: &str, error: &PathError) -> Failure {
    let message = format!("`{given}` is not a valid {parameter} of files: {error}");
    Failure::bad_parameter(parameter, message)
}
