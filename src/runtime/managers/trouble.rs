//! Why a manager was not ticked whose file is in a folder.

use crate::dialect::managers::FilePath;
use crate::error::Failure;
use crate::registry::Error;

/// Why a manager was not ticked.
pub(super) enum Trouble {
    /// Its file, or one that it names, cannot be used, and why.
    File(String),
    Failure(Failure),
}

impl Trouble {
    /// Others change a file whenever it is read.
    pub(super) fn keeps_changing(path: &FilePath) -> Self {
        Self::File(format!(
            "the file `{path}` changes while it is read; the manager is ticked \
             again later"
        ))
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        let is_of_file = matches!(
            error,
            Error::Folder { .. } | Error::NotAFile { .. } | Error::FileUnusable { .. }
        );
        if is_of_file {
            Self::File(error.to_string())
        } else {
            Self::Failure(error.into())
        }
    }
}

impl From<crate::runtime::Error> for Trouble {
    fn from(error: crate::runtime::Error) -> Self {
        Self::Failure(error.into())
    }
}
