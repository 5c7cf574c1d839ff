//! Reading and listing the files of a folder.

use std::{
    fs::{File, Metadata},
    io::Read as _,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::Path,
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::{
    BYTES_MAX, Fault, Found, Unusable,
    place::{self, FileInFolder},
};
use crate::clock::Timestamp;
use crate::dialect::managers::FilePath;
use crate::registry::{FileVersion, ListedFile};

/// The version of a content.
pub(super) fn version_of(content: &[u8]) -> FileVersion {
    FileVersion::Content(hex::encode(Sha256::digest(content)).into())
}

/// A file as it is; none if nothing is there.
pub(super) fn read(root: &Path, path: &FilePath) -> Result<Option<Found>, Fault> {
    let Some(place) = FileInFolder::find(root, path)? else {
        return Ok(None);
    };
    place.open()?.map(found).transpose()
}

/// The file of that name in an open folder as it is; none if nothing is there.
pub(super) fn read_in(folder: &OwnedFd, name: &str) -> Result<Option<Found>, Fault> {
    place::open_in(folder, name)?.map(found).transpose()
}

fn found((mut file, about): (File, Metadata)) -> Result<Found, Fault> {
    let updated = place::updated(&about);
    let mut content = Vec::new();
    let is_large = about.len() > BYTES_MAX || {
        // It may have grown since.
        file.by_ref()
            .take(BYTES_MAX + 1)
            .read_to_end(&mut content)?;
        content.len() as u64 > BYTES_MAX
    };
    if is_large {
        let about = file.metadata()?;
        // Content that nobody can read through the service is not read for its version either.
        let version = format!(
            "large-{}-{}.{:09}",
            about.len(),
            about.mtime(),
            about.mtime_nsec()
        );
        return Ok(Found {
            text: Err(Unusable::TooLarge(about.len())),
            version: FileVersion::Content(version.into()),
            size: about.len(),
            updated,
        });
    }
    let version = version_of(&content);
    let size = content.len() as u64;
    let text = String::from_utf8(content)
        .map(Arc::from)
        .map_err(|_| Unusable::NotText);
    Ok(Found {
        text,
        version,
        size,
        updated,
    })
}

/// What is listed of a file that cannot be read.
fn unread(path: &FilePath) -> ListedFile {
    ListedFile {
        path: path.shared(),
        version: FileVersion::Content("unreadable".into()),
        size: 0,
        updated: Timestamp::from_micros(0),
    }
}

/// The files whose paths begin with a text, by path: those after one, `limit` at most.
pub(super) fn list(
    root: &Path,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<ListedFile>, Fault> {
    let mut paths = place::paths(root, prefix)?;
    paths.retain(|path| after.is_none_or(|after| path.as_str() > after));
    paths.sort();
    let mut listed = Vec::new();
    for path in paths {
        if listed.len() == limit {
            break;
        }
        // What has vanished meanwhile, or has become something else, is not a file.
        let found = match read(root, &path) {
            Ok(Some(found)) => found,
            Ok(None) | Err(Fault::NotAFile(_) | Fault::Modified(_)) => continue,
            // One that cannot be opened does not hide the others.
            Err(Fault::Io(error)) => {
                tracing::warn!(%error, %path, "a file of a folder cannot be read; correct its permissions");
                listed.push(unread(&path));
                continue;
            }
        };
        listed.push(ListedFile {
            path: path.shared(),
            version: found.version,
            size: found.size,
            updated: found.updated,
        });
    }
    Ok(listed)
}
