//! Writing and deleting files of a folder. A file is replaced as a whole: a new one is written
//! beside it and takes its name, so that a reader sees either the old content or the new one, also
//! after the machine has failed.

use std::{
    fs::{File, Metadata, Permissions},
    io::{self, Write as _},
    os::{
        fd::OwnedFd,
        unix::fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, RenameFlags, fsync, openat, renameat, renameat_with, unlinkat,
    },
    io::Errno,
};

use super::{
    Fault,
    place::{self, FileInFolder},
    read::{read_in, version_of},
};
use crate::dialect::managers::FilePath;
use crate::registry::{Expected, FileVersion};

/// What the names of files begin with that are being written.
const UNFINISHED: &str = ".interlock-";

/// How often a change is tried again for which any version will do, while others write the file.
const TRIES: usize = 100;

/// How often two files change their places until what was replaced is what was expected. Giving up
/// may lose what somebody wrote, so it comes after many more.
const EXCHANGES_MAX: usize = 10_000;

/// Numbers the files that are being written.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Writes a file, or replaces what is there; the version that it has then.
pub(super) fn replace(
    root: &Path,
    path: &FilePath,
    content: &[u8],
    expected: &Expected,
) -> Result<FileVersion, Fault> {
    let version = version_of(content);
    for _ in 0..TRIES {
        let place = FileInFolder::make(root, path)?;
        let before = read_in(&place.folder, place.name)?.map(|found| found.version);
        if !expected.is_met(before.as_ref()) {
            return Err(Fault::Modified(before));
        }
        if before.as_ref() == Some(&version) {
            return Ok(version);
        }
        if put(&place, content, before.as_ref())? {
            return Ok(version);
        }
        // Somebody was faster. The next look says whether that matters.
    }
    Err(io::Error::from(io::ErrorKind::ResourceBusy).into())
}

/// Deletes a file.
pub(super) fn delete(root: &Path, path: &FilePath, expected: &Expected) -> Result<bool, Fault> {
    let Some(place) = FileInFolder::find(root, path)? else {
        return Ok(false);
    };
    let Some(before) = read_in(&place.folder, place.name)? else {
        return Ok(false);
    };
    if !expected.is_met(Some(&before.version)) {
        return Err(Fault::Modified(Some(before.version)));
    }
    match unlinkat(&place.folder, place.name, AtFlags::empty()) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        Err(error) => return Err(io::Error::from(error).into()),
    }
    fsync(&place.folder).map_err(io::Error::from)?;
    Ok(true)
}

/// Puts a content in the place of a version, or of none; false if something else is there by now.
fn put(
    place: &FileInFolder<'_>,
    content: &[u8],
    before: Option<&FileVersion>,
) -> Result<bool, Fault> {
    let (mut file, unfinished) = Unfinished::create(&place.folder)?;
    if let Some((_, about)) = place.open()? {
        keep_access(&file, &about)?;
    }
    file.write_all(content)?;
    file.sync_all()?;
    let is_done = match before {
        None => unfinished.appear(place)?,
        Some(before) => unfinished.take_the_place(place, before)?,
    };
    if is_done {
        fsync(&place.folder).map_err(io::Error::from)?;
    }
    Ok(is_done)
}

/// Lets those who could edit a file edit it further.
fn keep_access(file: &File, about: &Metadata) -> io::Result<()> {
    // Only a member of the group may give a file to it.
    let _ = rustix::fs::fchown(file, None, Some(Gid::from_raw(about.gid())));
    file.set_permissions(Permissions::from_mode(about.mode() & 0o777))
}

/// A file that does not have its name yet. Dropping it removes it.
struct Unfinished<'f> {
    folder: &'f OwnedFd,
    name: String,
}

impl<'f> Unfinished<'f> {
    fn create(folder: &'f OwnedFd) -> io::Result<(File, Self)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{UNFINISHED}{}-{number}.tmp", std::process::id());
            match openat(folder, &*name, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok((File::from(file), Self { folder, name })),
                // One that an earlier process has left.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes a name that no file has; false if one has it by now.
    fn appear(&self, place: &FileInFolder<'_>) -> Result<bool, Fault> {
        match self.rename(place, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            // A file system that cannot check it.
            Err(Errno::INVAL | Errno::NOSYS) => self.replace_if(place, None),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Takes the place of a version; false if another is there by now, which stays.
    ///
    /// Both change their names in one step, so that what was replaced can be looked at: had
    /// somebody written it in the meantime, it gets its name back. That is a replacement, too,
    /// before which somebody may have written; so it continues until what was replaced is what was
    /// put there before.
    fn take_the_place(
        &self,
        place: &FileInFolder<'_>,
        before: &FileVersion,
    ) -> Result<bool, Fault> {
        let mut aside = self.version_aside();
        let mut expected = Some(before.clone());
        for exchanges in 0..EXCHANGES_MAX {
            match self.rename(place, RenameFlags::EXCHANGE) {
                Ok(()) => {}
                // It was deleted, after everything that is known of it.
                Err(Errno::NOENT) => return Ok(false),
                Err(Errno::INVAL | Errno::NOSYS) if exchanges == 0 => {
                    return self.replace_if(place, Some(before));
                }
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let put = aside;
            aside = self.version_aside();
            if aside == expected {
                return Ok(exchanges == 0);
            }
            expected = put;
        }
        Err(io::Error::from(io::ErrorKind::ResourceBusy).into())
    }

    /// The version of what has this name now; none of what is not a file.
    fn version_aside(&self) -> Option<FileVersion> {
        let found = read_in(self.folder, &self.name).ok().flatten();
        found.map(|found| found.version)
    }

    /// The same in two steps, where the file system has no other way.
    fn replace_if(
        &self,
        place: &FileInFolder<'_>,
        before: Option<&FileVersion>,
    ) -> Result<bool, Fault> {
        let now = read_in(&place.folder, place.name)?.map(|found| found.version);
        if now.as_ref() != before {
            return Ok(false);
        }
        renameat(self.folder, &*self.name, &place.folder, place.name).map_err(io::Error::from)?;
        Ok(true)
    }

    fn rename(&self, place: &FileInFolder<'_>, flags: RenameFlags) -> rustix::io::Result<()> {
        renameat_with(self.folder, &*self.name, &place.folder, place.name, flags)
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // What has its name is not there under this one.
        let _ = unlinkat(self.folder, &*self.name, AtFlags::empty());
    }
}

/// Removes what an earlier process has left that was ended while it wrote.
pub(super) fn sweep(root: &Path) -> Result<(), Fault> {
    place::each(root, &|_| true, &mut |folder, _, name| {
        let begin = name.strip_suffix(".tmp");
        if begin.is_some_and(|name| name.starts_with(UNFINISHED)) {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
        Ok(())
    })
}
