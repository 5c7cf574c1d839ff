//! Where the file of an `SQLite` connector may be.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use crate::connector::{Files, Settings, Trust};
use crate::id::Tenant;

/// The file of a connector.
#[derive(Debug, Clone)]
pub(super) struct File {
    path: PathBuf,
    /// The folder that it must not leave.
    root: Option<PathBuf>,
    forbidden: Vec<PathBuf>,
}

impl File {
    pub(super) fn new(
        tenant: &Tenant,
        name: &str,
        trust: Trust,
        settings: &Settings,
    ) -> Result<Self, String> {
        const INVALID: &str = "`database` must be the path of a file";
        let given = Path::new(name);
        if given.file_name().is_none() || name.starts_with(':') || name.contains('\0') {
            return Err(INVALID.to_owned());
        }
        let root = match (&settings.files, trust) {
            (_, Trust::Operator) | (Files::Anywhere, Trust::Uploaded) => None,
            (Files::Nowhere, Trust::Uploaded) => {
                return Err(
                    "SQLite files are not allowed (INTERLOCK_CONNECTORS_SQLITE_DIR names the folder they may be in)"
                        .to_owned(),
                );
            }
            (Files::Below(folder), Trust::Uploaded) => Some(folder.join(folder_of(tenant))),
        };
        let path = match &root {
            None => std::path::absolute(given).map_err(|_| INVALID.to_owned())?,
            Some(root) => {
                let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
                if !given.components().all(is_below) {
                    return Err(
                        "`database` must be a path below the folder for SQLite files, without `..`"
                            .to_owned(),
                    );
                }
                root.join(given)
            }
        };
        Ok(Self {
            path,
            root,
            forbidden: settings.own_files.clone(),
        })
    }

    /// The path to open, without links; it is looked at each time, since files move.
    pub(super) fn place(&self) -> Result<PathBuf, String> {
        let unusable = |error: io::Error| format!("the folder of the file: {error}");
        if let Some(root) = &self.root {
            std::fs::create_dir_all(root).map_err(unusable)?;
        }
        let folder = self.path.parent().unwrap_or_else(|| Path::new("/"));
        let folder = folder.canonicalize().map_err(unusable)?;
        let name = self.path.file_name().unwrap_or_default();
        // A file that does not exist is made in this folder.
        let place = self.path.canonicalize();
        let place = place.unwrap_or_else(|_| folder.join(name));
        if let Some(root) = &self.root {
            let root = root.canonicalize().map_err(unusable)?;
            if !place.starts_with(&root) || self.is_dangling() {
                return Err("the file is outside of the folder for SQLite files".to_owned());
            }
        }
        let is_ours = |own: &PathBuf| own.canonicalize().is_ok_and(|own| own == place);
        if self.forbidden.iter().any(is_ours) {
            return Err("the file belongs to this service".to_owned());
        }
        Ok(place)
    }

    /// Whether it is a link to a file that does not exist, which opening would make.
    fn is_dangling(&self) -> bool {
        self.path.is_symlink() && !self.path.exists()
    }
}

/// The folder of a tenant: its name, as far as that is safe in a path.
fn folder_of(tenant: &Tenant) -> String {
    let name = tenant.to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if name.bytes().all(is_plain) {
        return name;
    }
    // No plain name has a dot.
    format!("hex.{}", hex::encode(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uploaded_file_stays_in_the_folder_of_its_tenant() {
        let folder = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
        for made in [inside.join("acme"), outside.clone()] {
            std::fs::create_dir_all(made).expect("a folder");
        }
        std::os::unix::fs::symlink(&outside, inside.join("acme/away")).expect("a link");
        std::os::unix::fs::symlink(outside.join("new"), inside.join("acme/new")).expect("a link");
        let settings = Settings {
            files: Files::Below(inside.clone()),
            ..Settings::default()
        };
        let tenant = Tenant::from("acme");
        let place = |name: &str, trust| {
            File::new(&tenant, name, trust, &settings).and_then(|file| file.place())
        };
        let own = inside.canonicalize().expect("a folder").join("acme/a.db");
        assert_eq!(place("a.db", Trust::Uploaded), Ok(own));
        for refused in [
            "../b.db",
            "/tmp/a.db",
            "away/a.db",
            "new",
            "x/../../a",
            ":memory:",
            "",
            "..",
        ] {
            assert!(place(refused, Trust::Uploaded).is_err(), "{refused}");
        }
        let anywhere = outside.join("a.db");
        let anywhere = anywhere.to_str().expect("text");
        assert!(place(anywhere, Trust::Operator).is_ok());
        let tenant = Tenant::from("../acme");
        assert!(!folder_of(&tenant).contains('/'));
    }

    #[test]
    fn the_files_of_this_service_and_uploaded_ones_without_a_folder_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("interlock.db");
        std::fs::write(&own, "").expect("a file");
        let tenant = Tenant::from("acme");
        let settings = Settings {
            own_files: vec![own.clone()],
            ..Settings::default()
        };
        let name = own.to_str().expect("text");
        assert!(File::new(&tenant, name, Trust::Uploaded, &settings).is_err());
        let file = File::new(&tenant, name, Trust::Operator, &settings).expect("allowed");
        assert!(file.place().is_err());
    }
}
