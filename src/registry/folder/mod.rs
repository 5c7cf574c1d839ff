//! A folder that people edit, as the files of one namespace (`runs.md` §8, `MANAGER_DIR`).
//!
//! The version of a file is the hash of its content, so that it changes with the content, also when
//! people write it. Nothing leads out of the folder: every part of a path is opened by itself, and no link
//! is followed. A change compares what is there with what it is based on when it takes its place.

mod place;
mod read;
mod write;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::{Mutex, OwnedMutexGuard};
use tracing::warn;

use super::{Error, Expected, File, FileVersion, ListedFile};
use crate::clock::Timestamp;
use crate::dialect::managers::FilePath;
use crate::id::Tenant;
use crate::pool::blocking;

/// The largest content, in bytes. People write at most 1 MiB (`runs.md` §8); a tick adds to that what
/// has become of each item, and has to read what it wrote.
const BYTES_MAX: u64 = 16 << 20;

/// Who is said to have written a file: a folder does not say.
const AUTHOR: &str = "folder";

/// The files of one namespace of one tenant; cheap to clone.
#[derive(Debug, Clone)]
pub struct Folder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    tenant: Tenant,
    namespace: Arc<str>,
    /// Whose turn it is to change files.
    turn: Arc<Mutex<()>>,
    /// As long as it is open, no other process uses the folder.
    _lock: fs::File,
}

/// The right to change files of the folder, until it is dropped.
#[derive(Debug, Clone)]
pub struct FolderTurn {
    _guard: Arc<OwnedMutexGuard<()>>,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(
        "the folder {0} of INTERLOCK_MANAGER_DIR is used by another process; stop that one, or \
         give this one another folder"
    )]
    InUse(PathBuf),
    #[error(
        "the folder {path} of INTERLOCK_MANAGER_DIR cannot be used; make it readable and writable for the service"
    )]
    Unusable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Why something was not done.
#[derive(Debug)]
enum Fault {
    /// The file is not at the version that a change is based on, but at this one.
    Modified(Option<FileVersion>),
    /// What is there is not a file, and what it is.
    NotAFile(&'static str),
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A file as it was found.
#[derive(Debug)]
pub struct Found {
    pub text: Result<Arc<str>, Unusable>,
    pub version: FileVersion,
    /// In bytes.
    pub size: u64,
    pub updated: Timestamp,
}

/// Why a file that is there has no content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("it has {0} bytes; a file has at most {BYTES_MAX}, so split it")]
    TooLarge(u64),
    #[error("it is not UTF-8 text; save it as UTF-8")]
    NotText,
    #[error("it is not JSON: {0}; correct it")]
    NotJson(String),
}

impl Folder {
    /// Uses a folder, which is made if it is not there, until the process ends.
    ///
    /// # Errors
    /// Another process uses it, or it cannot be read.
    pub fn open(root: &Path, tenant: Tenant, namespace: Arc<str>) -> Result<Self, FolderError> {
        let unusable = |source| FolderError::Unusable {
            path: root.to_owned(),
            source,
        };
        if !root.exists() {
            fs::create_dir_all(root).map_err(unusable)?;
            warn!(
                folder = %root.display(),
                "the folder of INTERLOCK_MANAGER_DIR was created; if it should have files, check its path and its mount"
            );
        }
        let root = root.canonicalize().map_err(unusable)?;
        let lock = fs::File::open(&root).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(FolderError::InUse(root)),
            Err(fs::TryLockError::Error(source)) => return Err(unusable(source)),
        }
        if let Err(Fault::Io(source)) = write::sweep(&root) {
            return Err(unusable(source));
        }
        Ok(Self(Arc::new(Inner {
            root,
            tenant,
            namespace,
            turn: Arc::default(),
            _lock: lock,
        })))
    }

    /// Whether it has the files of that namespace.
    pub fn is_of(&self, tenant: &Tenant, namespace: &str) -> bool {
        self.0.tenant == *tenant && *self.0.namespace == *namespace
    }

    /// Whose files it has.
    pub fn owner(&self) -> (&Tenant, &Arc<str>) {
        (&self.0.tenant, &self.0.namespace)
    }

    /// Waits for the turn to change files. Of several changes only one is made at a time; what
    /// people do is not held up.
    pub async fn turn(&self) -> FolderTurn {
        let guard = Arc::clone(&self.0.turn).lock_owned().await;
        FolderTurn {
            _guard: Arc::new(guard),
        }
    }

    /// A file as it is; none if it is not there.
    ///
    /// # Errors
    /// What is there is not a file, or cannot be read.
    pub async fn look(&self, path: &FilePath) -> Result<Option<Found>, Error> {
        let at = check_names(path)?;
        self.work(path, move |root| read::read(root, &at)).await
    }

    /// The text of a file, or why it cannot be read; none if it is not there.
    pub async fn text(&self, path: &FilePath) -> Option<Result<Arc<str>, String>> {
        match self.look(path).await {
            Ok(None) => None,
            Ok(Some(found)) => Some(found.text.map_err(|reason| reason.to_string())),
            Err(error) => Some(Err(error.to_string())),
        }
    }

    /// A file with its content.
    ///
    /// # Errors
    /// It is not there, or it is not JSON.
    pub async fn find(&self, path: &FilePath) -> Result<File, Error> {
        let mut file = self.find_text(path).await?;
        let json: &serde_json::value::RawValue = serde_json::from_str(&file.content)
            .map_err(|error| unusable(path, &Unusable::NotJson(error.to_string())))?;
        file.content = json.get().into();
        Ok(file)
    }

    /// A file with its text, whatever that is.
    ///
    /// # Errors
    /// It is not there, or it is not a text.
    pub async fn find_text(&self, path: &FilePath) -> Result<File, Error> {
        let not_found = || Error::FileNotFound {
            namespace: Arc::clone(&self.0.namespace),
            path: path.shared(),
        };
        let found = match self.look(path).await {
            Err(Error::NotAFile { .. }) => return Err(not_found()),
            found => found?.ok_or_else(not_found)?,
        };
        Ok(File {
            content: found.text.map_err(|reason| unusable(path, &reason))?,
            version: found.version,
            updated: found.updated,
            author: AUTHOR.into(),
        })
    }

    /// The files whose paths begin with a text, by path: those after one, `limit` at most.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ListedFile>, Error> {
        let (prefix, after) = (prefix.to_owned(), after.map(ToOwned::to_owned));
        let at = prefix.clone();
        let listing = move |root: &Path| read::list(root, &prefix, after.as_deref(), limit);
        self.blocking(listing)
            .await
            .map_err(|fault| self.failed(&at, fault))
    }

    /// Writes a file, or replaces what is there; the version that it has then.
    ///
    /// # Errors
    /// It is not at the version that is expected, or it cannot be written.
    pub async fn put(
        &self,
        turn: &FolderTurn,
        path: &FilePath,
        content: &str,
        expected: &Expected,
    ) -> Result<FileVersion, Error> {
        let at = check_names(path)?;
        let size = content.len() as u64;
        if size > BYTES_MAX {
            // Nobody could read it afterwards.
            return Err(unusable(path, &Unusable::TooLarge(size)));
        }
        let (content, expected) = (content.to_owned(), expected.clone());
        // If nobody waits for it any more, the turn lasts until it is done all the same.
        let turn = turn.clone();
        let writing = move |root: &Path| {
            let written = write::replace(root, &at, content.as_bytes(), &expected);
            drop(turn);
            written
        };
        self.work(path, writing).await
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// It is not there, or not at the version that is expected.
    pub async fn delete(
        &self,
        turn: &FolderTurn,
        path: &FilePath,
        expected: &Expected,
    ) -> Result<(), Error> {
        let at = check_names(path)?;
        let expected = expected.clone();
        let turn = turn.clone();
        let deleting = move |root: &Path| {
            let deleted = write::delete(root, &at, &expected);
            drop(turn);
            deleted
        };
        if self.work(path, deleting).await? {
            return Ok(());
        }
        Err(Error::FileNotFound {
            namespace: Arc::clone(&self.0.namespace),
            path: path.shared(),
        })
    }

    async fn work<T: Send + 'static>(
        &self,
        path: &FilePath,
        work: impl FnOnce(&Path) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        let done = self.blocking(work).await;
        done.map_err(|fault| self.failed(path.as_str(), fault))
    }

    /// Does work that waits for a disk, on a thread where nothing else waits.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> T {
        let folder = Arc::clone(&self.0);
        match blocking(move || work(&folder.root)).await {
            Some(done) => done,
            // Nobody is left to be answered.
            None => std::future::pending().await,
        }
    }

    fn failed(&self, path: &str, fault: Fault) -> Error {
        match fault {
            Fault::Modified(version) => Error::FileModified {
                path: path.into(),
                version,
            },
            Fault::NotAFile(what) => Error::NotAFile {
                path: path.into(),
                what,
            },
            Fault::Io(error) => {
                tracing::warn!(%error, path, folder = %self.0.root.display(), "the folder of a namespace cannot be used");
                Error::Folder {
                    path: path.into(),
                    reason: error.to_string().into(),
                }
            }
        }
    }
}

fn unusable(path: &FilePath, reason: &Unusable) -> Error {
    Error::FileUnusable {
        path: path.shared(),
        reason: reason.to_string().into(),
    }
}

/// Checks that no part of a path is hidden.
fn check_names(path: &FilePath) -> Result<FilePath, Error> {
    if path.as_str().split('/').any(place::is_hidden) {
        return Err(Error::NotAFile {
            path: path.shared(),
            what: "names that begin with a dot belong to editors and other programs",
        });
    }
    Ok(path.clone())
}

#[cfg(test)]
mod tests;
