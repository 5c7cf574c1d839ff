//! A folder with copies of files, and the versions that were copied.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::dialect::managers::{FilePath, PathError};

/// The file in the folder that says what was copied.
const NOTES: &str = ".interlock-files.json";

/// Why a folder was not copied.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum Error {
    #[error("cannot use {}", .0.display())]
    Unusable(PathBuf, #[source] io::Error),
    #[error("{} is not readable; delete it and pull into an empty folder", .0.display())]
    Notes(PathBuf),
    #[error("{} is not JSON; correct it, then push again", .0.display())]
    NotJson(PathBuf, #[source] serde_json::Error),
    #[error("{} has no path as files have it; rename it", .0.display())]
    BadName(PathBuf, #[source] PathError),
    #[error("{} is a link; files are not copied through links", .0.display())]
    Link(PathBuf),
    #[error(
        "{} has files of the namespace {namespace}; name that one with -n, or use another folder",
        .root.display()
    )]
    OtherNamespace { root: PathBuf, namespace: String },
    #[error("{0} not copied, see above")]
    Refused(usize),
}

/// How a file of the folder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Local {
    Gone,
    /// As it was copied.
    Same,
    Edited,
}

/// What is known of a file that was copied.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    version: String,
    /// Of what the folder had then.
    sha256: String,
}

/// What is known of the files that were copied.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes {
    /// Whose files they are; none in notes of an earlier version.
    namespace: Option<String>,
    /// By path.
    #[serde(flatten)]
    files: BTreeMap<String, Note>,
}

#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    notes: Notes,
}

/// What a file of the folder has.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) json: Box<RawValue>,
    sha256: String,
}

/// Whether a path is that of the notes.
pub(super) fn is_reserved(path: &str) -> bool {
    path.strip_prefix('/') == Some(NOTES)
}

impl Error {
    /// Whether a folder stands where a file should, or the other way round.
    pub(super) fn is_of_kinds(&self) -> bool {
        let kinds = [io::ErrorKind::NotADirectory, io::ErrorKind::IsADirectory];
        matches!(self, Self::Unusable(_, error) if kinds.contains(&error.kind()))
    }
}

impl Folder {
    /// Opens a folder, which is made if it is not there.
    pub(super) fn make(root: PathBuf, namespace: &str) -> Result<Self, Error> {
        fs::create_dir_all(&root).map_err(unusable(&root))?;
        Self::open(root, namespace)
    }

    /// Opens a folder that is there, for files of that namespace.
    pub(super) fn open(root: PathBuf, namespace: &str) -> Result<Self, Error> {
        fs::read_dir(&root).map_err(unusable(&root))?;
        let notes = root.join(NOTES);
        let mut notes: Notes = match fs::read(&notes) {
            Ok(text) => serde_json::from_slice(&text).map_err(|_| Error::Notes(notes))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Notes::default(),
            Err(error) => return Err(Error::Unusable(notes, error)),
        };
        match &notes.namespace {
            // What was copied from there would be removed, since it is not in this one.
            Some(other) if other != namespace => {
                let namespace = other.clone();
                return Err(Error::OtherNamespace { root, namespace });
            }
            Some(_) => {}
            None => notes.namespace = Some(namespace.to_owned()),
        }
        Ok(Self { root, notes })
    }

    /// The version of a file that was copied.
    pub(super) fn version(&self, path: &str) -> Option<&String> {
        self.notes.files.get(path).map(|note| &note.version)
    }

    pub(super) fn local(&self, path: &str) -> Result<Local, Error> {
        let place = self.place(path)?;
        Ok(match fs::read(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Local::Gone,
            Err(error) => return Err(Error::Unusable(place, error)),
            Ok(bytes) => match self.notes.files.get(path) {
                Some(note) if note.sha256 == sum(&bytes) => Local::Same,
                Some(_) | None => Local::Edited,
            },
        })
    }

    /// Whether a file of the folder is what a pull makes of this content.
    pub(super) fn has(&self, path: &str, content: &str) -> Result<bool, Error> {
        let place = self.place(path)?;
        let bytes = fs::read(&place).map_err(unusable(&place))?;
        Ok(bytes.strip_suffix(b"\n") == Some(content.as_bytes()))
    }

    /// Writes a file that was pulled.
    pub(super) fn write(
        &mut self,
        path: &str,
        content: &str,
        version: String,
    ) -> Result<(), Error> {
        let place = self.place(path)?;
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(unusable(parent))?;
        }
        let content = format!("{content}\n");
        replace(&place, &content)?;
        let sha256 = sum(content.as_bytes());
        self.insert(path, Note { version, sha256 });
        Ok(())
    }

    /// Remembers which version has a content that was pushed. The file may have another one by
    /// now.
    pub(super) fn note(&mut self, path: &str, version: String, pushed: Content) {
        let sha256 = pushed.sha256;
        self.insert(path, Note { version, sha256 });
    }

    fn insert(&mut self, path: &str, note: Note) {
        self.notes.files.insert(path.to_owned(), note);
    }

    pub(super) fn forget(&mut self, path: &str) {
        self.notes.files.remove(path);
    }

    /// Removes a file that was deleted on the server.
    pub(super) fn remove(&mut self, path: &str) -> Result<(), Error> {
        let place = self.place(path)?;
        match fs::remove_file(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::Unusable(place, error));
            }
            Ok(()) | Err(_) => {}
        }
        self.forget(path);
        Ok(())
    }

    /// The files that were copied and are not among these.
    pub(super) fn missing_from(&self, there: &[String]) -> Vec<String> {
        let there: BTreeSet<_> = there.iter().collect();
        let copied = self.notes.files.keys();
        let copied = copied.filter(|path| !there.contains(path));
        copied.cloned().collect()
    }

    /// The files of the folder that are not as they were copied, by path.
    pub(super) fn edited(&self) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        self.walk(&self.root, "", &mut found)?;
        found.sort_unstable();
        let mut edited = Vec::new();
        for path in found {
            if self.local(&path)? == Local::Edited {
                edited.push(path);
            }
        }
        Ok(edited)
    }

    /// The files that were copied and are not in the folder any more, with their versions.
    pub(super) fn gone(&self) -> Result<Vec<(String, String)>, Error> {
        let mut gone = Vec::new();
        for (path, note) in &self.notes.files {
            if self.local(path)? == Local::Gone {
                gone.push((path.clone(), note.version.clone()));
            }
        }
        Ok(gone)
    }

    /// The content of a file.
    pub(super) fn content(&self, path: &str) -> Result<Content, Error> {
        let place = self.place(path)?;
        let text = fs::read(&place).map_err(unusable(&place))?;
        let sha256 = sum(&text);
        let json = serde_json::from_slice(&text).map_err(|error| Error::NotJson(place, error))?;
        Ok(Content { json, sha256 })
    }

    /// Writes down what was copied.
    pub(super) fn save(&self) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(&self.notes).unwrap_or_default();
        replace(&self.root.join(NOTES), &format!("{text}\n"))
    }

    /// Where a file is in the folder. A link on the way could lead out of it.
    fn place(&self, path: &str) -> Result<PathBuf, Error> {
        let bad = |error| Error::BadName(PathBuf::from(path), error);
        let path = FilePath::parse(path).map_err(bad)?;
        let mut place = self.root.clone();
        for segment in path.as_str().split('/').skip(1) {
            place.push(segment);
            if fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_symlink()) {
                return Err(Error::Link(place));
            }
        }
        Ok(place)
    }

    /// The files below a folder, by path.
    fn walk(&self, folder: &Path, below: &str, found: &mut Vec<String>) -> Result<(), Error> {
        for entry in fs::read_dir(folder).map_err(unusable(folder))? {
            let entry = entry.map_err(unusable(folder))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let path = format!("{below}/{name}");
            if (below.is_empty() && name == NOTES) || self.is_of_others(&name, &path) {
                continue;
            }
            let kind = entry.file_type().map_err(unusable(&entry.path()))?;
            if kind.is_dir() {
                self.walk(&entry.path(), &path, found)?;
            } else if kind.is_file() {
                FilePath::parse(&path).map_err(|error| Error::BadName(entry.path(), error))?;
                found.push(path);
            } else {
                return Err(Error::Link(entry.path()));
            }
        }
        Ok(())
    }

    /// Whether something belongs to editors and other programs by its name. What was pulled does
    /// not, whatever its name is.
    fn is_of_others(&self, name: &str, path: &str) -> bool {
        let is_by_name = name.starts_with(['.', '#']) || name.ends_with('~');
        is_by_name && {
            let pulled = self.notes.files.keys();
            let mut rest = pulled.filter_map(|known| known.strip_prefix(path));
            !rest.any(|rest| rest.is_empty() || rest.starts_with('/'))
        }
    }
}

fn unusable(place: &Path) -> impl Fn(io::Error) -> Error {
    move |error| Error::Unusable(place.to_owned(), error)
}

fn sum(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Replaces a file as a whole, so that nobody reads half of it.
fn replace(place: &Path, text: &str) -> Result<(), Error> {
    let mut beside = place.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    fs::write(&beside, text).map_err(unusable(&beside))?;
    fs::rename(&beside, place).map_err(unusable(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_while_a_file_is_pushed_is_an_edit() {
        let root = tempfile::tempdir().expect("a folder");
        let mut folder = Folder::open(root.path().to_owned(), "default").expect("opens");
        let place = root.path().join("a.json");
        fs::write(&place, "2").expect("writes");
        let pushed = folder.content("/a.json").expect("JSON");
        assert_eq!(pushed.json.get(), "2");
        fs::write(&place, "3").expect("writes");
        folder.note("/a.json", "v2".to_owned(), pushed);
        assert_eq!(folder.edited().expect("readable"), ["/a.json"]);
        fs::write(&place, "2").expect("writes");
        assert_eq!(folder.local("/a.json").expect("readable"), Local::Same);
    }
}
