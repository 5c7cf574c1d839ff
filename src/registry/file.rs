//! Files: JSON documents under paths, of a tenant and namespace (`runs.md` §8).
//!
//! A file is a record whose body is its content, byte for byte as it was written. Its version is
//! the transaction that wrote it. The files of one namespace may instead be those of a folder.

use std::{fmt, sync::Arc};

use super::{Error, Folder, Registry};
use crate::clock::Timestamp;
use crate::dialect::managers::FilePath;
use crate::id::{Tenant, TransactionId};
use crate::storage::{Record, RecordHead, RecordKey, RecordKind, UnitOfWork};

/// What a file has another of each time it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileVersion {
    /// The transaction that wrote it, in the store.
    Commit(TransactionId),
    /// The hash of its content, in a folder.
    Content(Box<str>),
}

impl fmt::Display for FileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(transaction) => transaction.fmt(f),
            Self::Content(hash) => f.write_str(hash),
        }
    }
}

/// A file.
#[derive(Debug, Clone)]
pub struct File {
    pub content: Arc<str>,
    pub version: FileVersion,
    pub updated: Timestamp,
    /// Who wrote it.
    pub author: Arc<str>,
}

/// What is known of a file beside its content.
#[derive(Debug, Clone)]
pub struct ListedFile {
    pub path: Arc<str>,
    pub version: FileVersion,
    /// In bytes.
    pub size: u64,
    pub updated: Timestamp,
}

/// Which version of a file a change is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Whatever is there.
    Any,
    /// There is none.
    Absent,
    /// There is one.
    Present,
    /// That version.
    Version(Box<str>),
}

impl Expected {
    /// That version.
    pub fn of(version: &FileVersion) -> Self {
        Self::Version(version.to_string().into())
    }

    /// As requests say it: an empty text for a file that must not be there, `*` for one that must.
    pub fn read(given: Option<&str>) -> Self {
        match given {
            None => Self::Any,
            Some("") => Self::Absent,
            Some("*") => Self::Present,
            Some(version) => Self::Version(version.into()),
        }
    }

    pub(super) fn is_met(&self, version: Option<&FileVersion>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => version.is_none(),
            Self::Present => version.is_some(),
            Self::Version(expected) => version.is_some_and(|is| is.to_string() == **expected),
        }
    }
}

impl File {
    /// The file as a unit sees it; the commit fails if it changes meanwhile.
    pub async fn find(
        unit: &mut UnitOfWork,
        namespace: &str,
        path: &FilePath,
    ) -> Result<Self, Error> {
        let record = unit.read_record(&key(namespace, path)).await?;
        let record = record.ok_or_else(|| not_found(namespace, path))?;
        let origin = unit.storage().record_origin(&record).await?;
        let content = Arc::clone(&record.body);
        Ok(match origin {
            Some(origin) => Self {
                content,
                version: FileVersion::Commit(origin.transaction),
                updated: origin.at,
                author: origin.author.name,
            },
            // What the unit itself has written.
            None => Self {
                content,
                version: FileVersion::Commit(unit.id()),
                updated: unit.storage().now(),
                author: Arc::clone(&unit.attribution().author.name),
            },
        })
    }

    /// The content of a file as a unit sees it, if it is there; the commit fails if it changes
    /// meanwhile.
    pub async fn content(
        unit: &mut UnitOfWork,
        namespace: &str,
        path: &FilePath,
    ) -> Result<Option<Arc<str>>, Error> {
        let record = unit.read_record(&key(namespace, path)).await?;
        Ok(record.map(|record| Arc::clone(&record.body)))
    }

    /// Writes a file, or replaces what is there; the version that it has then.
    pub async fn put(
        unit: &mut UnitOfWork,
        namespace: &str,
        path: &FilePath,
        content: Arc<str>,
        expected: &Expected,
    ) -> Result<FileVersion, Error> {
        let key = key(namespace, path);
        let before = unit.read_record(&key).await?;
        check(unit, path, before.as_deref(), expected).await?;
        unit.put_record(key, content)?;
        Ok(FileVersion::Commit(unit.id()))
    }

    pub async fn delete(
        unit: &mut UnitOfWork,
        namespace: &str,
        path: &FilePath,
        expected: &Expected,
    ) -> Result<(), Error> {
        let key = key(namespace, path);
        let before = unit.read_record(&key).await?;
        let before = before.ok_or_else(|| not_found(namespace, path))?;
        check(unit, path, Some(&before), expected).await?;
        Ok(unit.drop_record(key)?)
    }
}

/// Checks that a file is as a change expects it.
async fn check(
    unit: &UnitOfWork,
    path: &FilePath,
    before: Option<&Record>,
    expected: &Expected,
) -> Result<(), Error> {
    if *expected == Expected::Any {
        return Ok(());
    }
    let version = match before {
        None => None,
        Some(record) => match unit.storage().record_origin(record).await? {
            Some(origin) => Some(origin.transaction),
            None => Some(unit.id()),
        },
    };
    let version = version.map(FileVersion::Commit);
    if expected.is_met(version.as_ref()) {
        return Ok(());
    }
    Err(Error::FileModified {
        path: path.shared(),
        version,
    })
}

impl Registry {
    /// The folder that has the files of a namespace; none if the store has them.
    pub fn folder(&self, tenant: &Tenant, namespace: &str) -> Option<&Folder> {
        let folder = self.0.folder.as_ref();
        folder.filter(|folder| folder.is_of(tenant, namespace))
    }

    /// The folder that has the files of some namespace, if there is one.
    pub fn any_folder(&self) -> Option<&Folder> {
        self.0.folder.as_ref()
    }

    /// A file of the store as a unit sees it, or of a folder as it is.
    pub async fn file(
        &self,
        unit: &mut UnitOfWork,
        namespace: &str,
        path: &FilePath,
    ) -> Result<File, Error> {
        match self.folder(unit.tenant(), namespace) {
            Some(folder) => folder.find(path).await,
            None => File::find(unit, namespace, path).await,
        }
    }

    /// The files of a namespace whose paths begin with a text, by path: those after one, `limit`
    /// at most.
    pub async fn files(
        &self,
        tenant: &Tenant,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ListedFile>, Error> {
        if let Some(folder) = self.folder(tenant, namespace) {
            return folder.list(prefix, after, limit).await;
        }
        let storage = &self.0.storage;
        let places = (prefix, after);
        let found = storage.record_heads(tenant, RecordKind::File, namespace, places, limit);
        let listed = |head: RecordHead| ListedFile {
            path: head.name,
            version: FileVersion::Commit(head.origin.transaction),
            size: head.bytes,
            updated: head.origin.at,
        };
        Ok(found.await?.into_iter().map(listed).collect())
    }
}

fn key(namespace: &str, path: &FilePath) -> RecordKey {
    RecordKey::new(RecordKind::File, namespace, path.shared())
}

fn not_found(namespace: &str, path: &FilePath) -> Error {
    Error::FileNotFound {
        namespace: namespace.into(),
        path: path.shared(),
    }
}
