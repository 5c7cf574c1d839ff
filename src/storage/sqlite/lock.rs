//! One process at a time uses a database: `SQLite` itself would let two of them take turns.

use std::{
    fs::{self, File, OpenOptions},
    io,
    mem::ManuallyDrop,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{MODE, header::check_kind, place, tail};
use crate::storage::port::{DatabaseLocation, OpenError};

/// Held while a process uses a database.
#[derive(Debug)]
pub(super) struct Lock {
    /// A lock file beside the database, which stays: if it were removed, two processes could lock two
    /// files of that name.
    _beside: File,
    /// The database itself, which may have names in other folders. It is unlocked and never closed:
    /// closing a file releases the locks that `SQLite` has on it in this process.
    database: Option<ManuallyDrop<File>>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(database) = &self.database {
            // Otherwise the end of the process unlocks it.
            let _ = database.unlock();
        }
    }
}

impl Lock {
    /// Makes the folder of the database, but not the database.
    fn beside(path: &Path) -> Result<Self, OpenError> {
        check_kind(path).map_err(unusable(path))?;
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            fs::create_dir_all(folder).map_err(unusable(folder))?;
        }
        // The setting may name a link, which would have a lock file of its own.
        let named = lock_path(&place::behind_links(path));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(MODE)
            .open(&named)
            .map_err(unusable(&named))?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                _beside: file,
                database: None,
            }),
            Err(fs::TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
            Err(fs::TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Locks the database itself, if it is there.
    fn and_database(mut self, path: &Path) -> Result<Self, OpenError> {
        let file = match File::open(path) {
            Ok(file) => ManuallyDrop::new(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self),
            Err(error) => return Err(unusable(path)(error)),
        };
        if is_locked_elsewhere(&file) {
            return Err(OpenError::InUse(path.to_owned()));
        }
        self.database = Some(file);
        Ok(self)
    }
}

/// Locks a database that may not be there yet.
pub(super) fn lock(place: &DatabaseLocation) -> Result<Option<Lock>, OpenError> {
    let DatabaseLocation::File(path) = place else {
        return Ok(None);
    };
    Ok(Some(Lock::beside(path)?.and_database(path)?))
}

/// Locks a database whose file is made if it is not there. Only its owner may read it: it may hold
/// keys. What `SQLite` makes beside it has the same mode.
pub(super) fn lock_or_make(place: &DatabaseLocation) -> Result<Option<Lock>, OpenError> {
    let DatabaseLocation::File(path) = place else {
        return Ok(None);
    };
    let lock = Lock::beside(path)?;
    check_may_be_made(path)?;
    let made = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(MODE)
        .open(path);
    made.map(drop).map_err(unusable(path))?;
    Ok(Some(lock.and_database(path)?))
}

/// Fails if a database that is missing or empty must have been there before. `SQLite` deletes the log
/// beside a new database, and with it commits that were acknowledged.
fn check_may_be_made(path: &Path) -> Result<(), OpenError> {
    match fs::metadata(path) {
        Ok(file) if file.len() > 0 => return Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(path)(error)),
        Ok(_) | Err(_) => {}
    }
    let database = place::behind_links(path);
    let log = place::log_of(&database);
    if tail::read(&log).map_err(unusable(&log))?.is_some() {
        return Err(unusable(&log)(io::Error::other(
            "it is the log of a database that is missing; put the database back beside it, or \
             move the log away",
        )));
    }
    let partial = place::beside(&database, "partial");
    if partial.exists() {
        return Err(unusable(&partial)(io::Error::other(
            "it is left of a restore that was interrupted, and there is no database; restore \
             again, or remove it",
        )));
    }
    Ok(())
}

/// Whether another process has locked a file that `SQLite` opens, too; otherwise it is locked now.
/// Elsewhere than on Linux this lock and those of `SQLite` would exclude each other, and file systems
/// that do not know it leave the file beside the database.
fn is_locked_elsewhere(file: &File) -> bool {
    cfg!(target_os = "linux") && matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock))
}

pub(super) fn unusable(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    |source| OpenError::Unusable { path, source }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_database_is_made_where_one_must_have_been() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let connection = rusqlite::Connection::open(path("test.db")).expect("opens");
        connection
            .execute_batch("pragma journal_mode = wal; create table t(a)")
            .expect("makes");
        fs::copy(path("test.db-wal"), path("lost.db-wal")).expect("copied");
        fs::write(path("copied.db.partial"), "").expect("written");
        std::os::unix::fs::symlink("lost.db", path("link.db")).expect("a link");
        for (name, expected) in [
            ("lost.db", "the log of a database that is missing"),
            ("link.db", "the log of a database that is missing"),
            ("copied.db", "a restore that was interrupted"),
        ] {
            let refused = lock_or_make(&DatabaseLocation::File(path(name)));
            let Err(OpenError::Unusable { source, .. }) = refused else {
                panic!("{name}: {refused:?}");
            };
            assert!(source.to_string().contains(expected), "{name}: {source}");
            assert!(!path(name).exists(), "{name}");
        }
        assert!(lock_or_make(&DatabaseLocation::File(path("new.db"))).is_ok());
    }
}
