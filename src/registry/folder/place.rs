//! Places below the folder, opened one segment after the other, so that nothing leads out of it:
//! no link is followed, whatever it is replaced by meanwhile.

use std::{
    fs::{File, Metadata},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{FileTypeExt as _, MetadataExt as _},
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, fsync, mkdirat, open, openat, statat},
    io::Errno,
};

use super::Fault;
use crate::clock::Timestamp;
use crate::dialect::managers::FilePath;

/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// How a file is opened that is read. A pipe is not waited for, and a terminal not taken over.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The place of a file: the folder that it is in, and its name there.
pub(super) struct FileInFolder<'p> {
    pub(super) folder: OwnedFd,
    pub(super) name: &'p str,
}

/// The folder itself.
pub(super) fn root(path: &Path) -> Result<OwnedFd, Fault> {
    Ok(open(path, FOLDER, Mode::empty()).map_err(io::Error::from)?)
}

impl<'p> FileInFolder<'p> {
    /// The place of a path; none if a folder above it is not there.
    pub(super) fn find(root: &Path, path: &'p FilePath) -> Result<Option<Self>, Fault> {
        Self::walk(root, path, &mut |_, _| Ok(false))
    }

    /// The place of a path; folders above it that are not there are made.
    pub(super) fn make(root: &Path, path: &'p FilePath) -> Result<Self, Fault> {
        let mut making = |folder: &OwnedFd, name: &str| {
            match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
                // Somebody was first.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            fsync(folder).map_err(io::Error::from)?;
            Ok(true)
        };
        let found = Self::walk(root, path, &mut making)?;
        found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound).into())
    }

    fn walk(
        root: &Path,
        path: &'p FilePath,
        missing: &mut dyn FnMut(&OwnedFd, &str) -> Result<bool, Fault>,
    ) -> Result<Option<Self>, Fault> {
        let (above, name) = path.as_str().rsplit_once('/').unwrap_or_default();
        let mut folder = self::root(root)?;
        for segment in above.split('/').filter(|segment| !segment.is_empty()) {
            let mut next = enter(&folder, segment);
            if let Err(Errno::NOENT) = next {
                if !missing(&folder, segment)? {
                    return Ok(None);
                }
                next = enter(&folder, segment);
            }
            folder = match next {
                Ok(next) => next,
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    return Err(Fault::NotAFile("a part of the path is not a folder"));
                }
                Err(error) => return Err(io::Error::from(error).into()),
            };
        }
        Ok(Some(Self { folder, name }))
    }

    /// Opens the file that is there; none if nothing is.
    pub(super) fn open(&self) -> Result<Option<(File, Metadata)>, Fault> {
        open_in(&self.folder, self.name)
    }
}

fn enter(folder: &OwnedFd, segment: &str) -> rustix::io::Result<OwnedFd> {
    openat(
        folder,
        segment,
        FOLDER.union(OFlags::NOFOLLOW),
        Mode::empty(),
    )
}

/// Opens a file of a folder; none if nothing is there.
pub(super) fn open_in(folder: &OwnedFd, name: &str) -> Result<Option<(File, Metadata)>, Fault> {
    let file = match openat(folder, name, FILE, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(Fault::NotAFile("a link is there")),
        // A socket cannot be opened.
        Err(Errno::NXIO) => return Err(Fault::NotAFile("what is there is not a file")),
        Err(error) => return Err(io::Error::from(error).into()),
    };
    let about = file.metadata()?;
    let kind = about.file_type();
    if kind.is_file() {
        return Ok(Some((file, about)));
    }
    Err(Fault::NotAFile(if kind.is_dir() {
        "a folder is there"
    } else if kind.is_fifo() {
        "a pipe is there"
    } else {
        "what is there is not a file"
    }))
}

/// When a file was written last.
pub(super) fn updated(about: &Metadata) -> Timestamp {
    let micros = about.mtime().saturating_mul(1_000_000);
    Timestamp::from_micros(micros.saturating_add(about.mtime_nsec() / 1_000))
}

/// The paths of all files below the folder that begin with a text. What vanishes meanwhile, links,
/// and names that no file may have are left out.
pub(super) fn paths(root: &Path, prefix: &str) -> Result<Vec<FilePath>, Fault> {
    let mut found = Vec::new();
    let is_wanted = |below: &str| below.starts_with(prefix) || prefix.starts_with(below);
    each(root, &is_wanted, &mut |folder, above, name| {
        let path = FilePath::parse(&format!("{above}{name}"));
        let path = path.ok().filter(|path| path.as_str().starts_with(prefix));
        if let Some(path) = path.filter(|_| !is_hidden(name))
            && kind_of(folder, name)? == Some(FileType::RegularFile)
        {
            found.push(path);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether a name is one that editors and other programs use for themselves.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// Calls for each name in the folder and in the folders below it that are wanted, with the folder
/// and its path.
pub(super) fn each(
    root: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
    call: &mut dyn FnMut(&OwnedFd, &str, &str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut left = vec![(self::root(root)?, String::from("/"))];
    while let Some((folder, above)) = left.pop() {
        for entry in Dir::read_from(&folder).map_err(io::Error::from)? {
            let entry = entry.map_err(io::Error::from)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            call(&folder, &above, name)?;
            let below = format!("{above}{name}/");
            let may_be = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            let is_path = FilePath::parse(below.trim_end_matches('/')).is_ok();
            if !may_be || !is_path || is_hidden(name) || !is_wanted(&below) {
                continue;
            }
            match enter(&folder, name) {
                Ok(next) => left.push((next, below)),
                // It is not a folder, or not any more.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                // One that cannot be opened does not hide the others.
                Err(error) => {
                    tracing::warn!(%error, folder = below, "a folder with files cannot be read; correct its permissions");
                }
            }
        }
    }
    Ok(())
}

/// What has a name; none if it has vanished.
fn kind_of(folder: &OwnedFd, name: &str) -> Result<Option<FileType>, Fault> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(about) => Ok(Some(FileType::from_raw_mode(about.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(io::Error::from(error).into()),
    }
}
