//! `interlock init`: writes a settings file that explains every setting.

use std::{
    fmt::Write as _,
    fs::{DirBuilder, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::failed;
use crate::app::{
    config::{SYSTEM_FILE, user_file},
    settings::{Effect, Kind, OURS, SETTINGS},
};

/// The file may contain secrets.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Why no file was written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("neither XDG_CONFIG_HOME nor HOME is set, so the file has no place; set one of them")]
    NoPlace,
    #[error("{} could not be written", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

pub(super) fn run(force: bool) -> ExitCode {
    match init(force) {
        Ok(text) => {
            show!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error),
    }
}

/// Writes the file unless it exists; returns the message to print.
fn init(force: bool) -> Result<String, Error> {
    let path = user_file().ok_or(Error::NoPlace)?;
    let existing = [path.as_path(), Path::new(SYSTEM_FILE)]
        .into_iter()
        .find(|path| path.exists());
    if let Some(existing) = existing.filter(|_| !force) {
        return Ok(format!(
            "{} already exists, and nothing was written; `interlock init --force` overwrites {}",
            existing.display(),
            path.display()
        ));
    }
    write(&path).map_err(|error| Error::Write(path.clone(), error))?;
    Ok(format!(
        "{} was written; it explains every setting",
        path.display()
    ))
}

fn write(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(folder)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE)
        .open(path)?;
    // Otherwise an existing file keeps its mode.
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    file.write_all(text().as_bytes())?;
    file.sync_all()
}

/// The content of the file: chosen settings, then all others as comments.
fn text() -> String {
    let mut text = format!(
        "# Settings of Interlock for this user.\n\
         # The environment and the .env files of the working directory win over this file, and\n\
         # this file over {SYSTEM_FILE}. Every name may begin with {OURS} instead of CYODA_.\n\
         # Put a value that contains $ in single quotes; $NAME is replaced by that variable.\n\
         \n\
         CYODA_STORAGE_BACKEND=sqlite\n"
    );
    let others = SETTINGS
        .iter()
        .filter(|setting| setting.effect == Effect::Now && setting.name != "STORAGE_BACKEND");
    for setting in others {
        let name = setting.documented();
        let _ = write!(text, "\n# {}\n", setting.meaning);
        if let Kind::Choice(choices) = setting.kind {
            let _ = writeln!(text, "# one of: {}", choices.join(", "));
        }
        if setting.kind == Kind::Secret {
            let _ = writeln!(text, "# {name}_FILE names a file that contains it");
        }
        let _ = writeln!(text, "#{name}={}", setting.default);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_says_what_would_hold_without_it() {
        let lines = text();
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [
            ("as-written", lines.clone()),
            (
                "all",
                lines
                    .replace("\n#CYODA", "\nCYODA")
                    .replace("\n#INTERLOCK", "\nINTERLOCK"),
            ),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("writable");
            let read: Vec<_> = dotenvy::from_path_iter(&path)
                .expect("readable")
                .collect::<Result<_, _>>()
                .expect("lines that are settings");
            for (name, value) in &read {
                let setting = SETTINGS
                    .iter()
                    .find(|setting| setting.documented() == *name)
                    .unwrap_or_else(|| panic!("{name} is not a setting"));
                assert_eq!(*value, setting.default, "{name}");
            }
            let expected = if name == "all" {
                SETTINGS
                    .iter()
                    .filter(|setting| setting.effect == Effect::Now)
                    .count()
            } else {
                1
            };
            assert_eq!(read.len(), expected);
        }
    }
}
