//! Managers: batches in files that people read and edit (`orchestration.md` chapter 3).

mod path;

pub use path::{FilePath, PathError, check_prefix};
