//! Whether the files that are open are still the files at their paths.
//!
//! A file that was deleted, moved or replaced can still be written by the process that has it
//! open, and everything written to it is lost at the next start. So no commit is acknowledged
//! before both files were looked for at their paths: two system calls for each batch.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

#[cfg(target_os = "linux")]
use rustix::{
    fs::{AtFlags, CWD, StatxFlags, makedev, statx},
    io::Errno,
};

use crate::storage::port::Misplaced;

/// How many links are followed, as Linux does.
const LINKS_MAX: usize = 40;

/// What distinguishes one file from all others of the machine, as long as it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Asks for nothing else of the file: on kernels that keep fine timestamps (Linux 6.13) a
    /// question for its times has the next write store another one, which makes each sync write a
    /// block more.
    #[cfg(target_os = "linux")]
    fn at(path: &Path) -> io::Result<Self> {
        match statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
            Ok(file) => Ok(Self {
                device: makedev(file.stx_dev_major, file.stx_dev_minor),
                inode: file.stx_ino,
            }),
            // Some sandboxes do not know the call.
            Err(Errno::NOSYS | Errno::PERM) => Ok(Self::of(&fs::metadata(path)?)),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&fs::metadata(path)?))
    }
}

/// The files of an open database.
#[derive(Debug, Clone)]
pub(super) struct Placement(Arc<Files>);

#[derive(Debug)]
struct Files {
    /// As the settings name it; perhaps a link.
    path: PathBuf,
    identity: Identity,
    /// Beside the database itself, not beside a link to it.
    log: PathBuf,
}

/// The open log, and which file it is.
#[derive(Debug, Clone)]
pub(super) struct OpenLog {
    pub(super) file: Arc<File>,
    identity: Identity,
}

impl Placement {
    /// Remembers which files there are now.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let identity = Identity::at(path)?;
        let log = log_of(&path.canonicalize()?);
        Ok(Self(Arc::new(Files {
            path: path.to_owned(),
            identity,
            log,
        })))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Opens the log, which is there after the first commit.
    pub(super) fn open_log(&self) -> io::Result<OpenLog> {
        let file = File::open(&self.0.log)?;
        Ok(OpenLog {
            identity: Identity::of(&file.metadata()?),
            file: Arc::new(file),
        })
    }

    /// Fails unless the database is at its path, and the log at its own if it is open.
    pub(super) fn check(&self, log: Option<&OpenLog>) -> io::Result<()> {
        is_at(&self.0.path, self.0.identity)?;
        match log {
            Some(log) => is_at(&self.0.log, log.identity),
            None => Ok(()),
        }
    }
}

/// The file that a path names, through links also to one that is not there.
pub(super) fn behind_links(path: &Path) -> PathBuf {
    let mut found = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&found) else {
            break;
        };
        found = match found.parent() {
            Some(folder) => folder.join(target),
            None => target,
        };
    }
    found.canonicalize().unwrap_or(found)
}

/// A file beside another, of its name with something added.
pub(super) fn beside(path: &Path, added: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(added);
    path.with_file_name(name)
}

/// The log of a database.
pub(super) fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn is_at(path: &Path, identity: Identity) -> io::Result<()> {
    match Identity::at(path) {
        Ok(found) if found == identity => Ok(()),
        Ok(_) => Err(misplaced(path)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Err(misplaced(path))
        }
        Err(error) => Err(error),
    }
}

fn misplaced(path: &Path) -> io::Error {
    io::Error::other(Misplaced {
        path: path.to_owned(),
    })
}
