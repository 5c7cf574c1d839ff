//! The key that seals the variables of bundles (`runs.md` §7).

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use tracing::info;

use super::Error;
use crate::auth::Seal;

/// Where the key comes from.
#[derive(Debug)]
pub struct Sealing {
    place: KeySource,
    /// Once it was needed.
    seal: OnceLock<Seal>,
}

#[derive(Debug)]
enum KeySource {
    /// The settings.
    Given,
    /// A file that is made at the first need.
    File(PathBuf),
    /// The memory, as everything else.
    Memory,
    /// There is none.
    Absent,
}

impl Sealing {
    /// The key of the settings.
    pub fn with(seal: Seal) -> Self {
        Self {
            place: KeySource::Given,
            seal: OnceLock::from(seal),
        }
    }

    /// A key of the service's own, beside its database file if there is one.
    pub fn own(database: Option<&Path>) -> Self {
        let file = |database: &Path| {
            let mut name = database.as_os_str().to_owned();
            name.push(".key");
            KeySource::File(name.into())
        };
        Self {
            place: database.map_or(KeySource::Memory, file),
            seal: OnceLock::new(),
        }
    }

    /// No key: one of the process's own could not be used by the next one.
    pub const fn none() -> Self {
        Self {
            place: KeySource::Absent,
            seal: OnceLock::new(),
        }
    }

    /// The key to seal with. It is made if there is none.
    pub(super) fn to_seal(&self) -> Result<&Seal, Error> {
        self.seal(of_file)
    }

    /// The key to open with what was sealed before, so there is one.
    pub(super) fn to_open(&self) -> Result<&Seal, Error> {
        self.seal(|path| match stored(path) {
            Ok(Some(seal)) => Ok(seal),
            Ok(None) => Err("it is missing, copy it from where the database came from".to_owned()),
            Err(reason) => Err(reason),
        })
    }

    fn seal(&self, of_file: impl FnOnce(&Path) -> Result<Seal, String>) -> Result<&Seal, Error> {
        if let Some(seal) = self.seal.get() {
            return Ok(seal);
        }
        let seal = match &self.place {
            KeySource::File(path) => of_file(path).map_err(|reason| Error::NoKey {
                path: path.display().to_string().into(),
                reason: reason.into(),
            })?,
            KeySource::Absent => return Err(Error::NoKeyGiven),
            KeySource::Given | KeySource::Memory => Seal::fresh().0,
        };
        Ok(self.seal.get_or_init(|| seal))
    }
}

/// Reads the key of a file, which is made if it is not there.
fn of_file(path: &Path) -> Result<Seal, String> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(mut file) => {
            let (seal, text) = Seal::fresh();
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_all())
                .map_err(|error| error.to_string())?;
            info!(
                file = %path.display(),
                "variables of bundles are sealed with a key that was made in this file; keep it with the database, or set INTERLOCK_KEY_ENCRYPTION_KEY"
            );
            Ok(seal)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            stored(path)?.ok_or_else(|| "it was removed".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The key of a file; none if there is no file.
fn stored(path: &Path) -> Result<Option<Seal>, String> {
    match fs::read_to_string(path) {
        Ok(text) => Seal::parse(&text)
            .map(Some)
            .map_err(|error| error.to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
