//! Managers: ticks over the files of a namespace (`runs.md` §8).
//!
//! The files are the truth, because people edit them. A tick reads a manager's file and what its
//! items wait for, computes what follows, and commits that with the work it starts; an edit made
//! meanwhile is a conflict, after which it is computed again. There is no lock.

mod folder;
mod run;
mod schedule;
mod start;
mod tick;
mod turns;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use tokio_util::sync::CancellationToken;

use super::{Initiator, Runtime};
use crate::dialect::managers::{
    FilePath, Filed, MANAGERS, REGISTRY, Registry as Managers, is_manager_in_folder, manager_at,
};
use crate::error::{Code, Failure};
use crate::id::Tenant;
use crate::registry::{Error, Expected, File, Folder, ListedFile};
use crate::storage::Attribution;
use crate::telemetry::measure;

pub use tick::{Processed, StartedItem, StartedWork};
pub(super) use turns::Ticks;

/// How many files are listed at a time.
const PAGE: usize = 1_000;

/// How often a commit is tried again that met a conflict.
const CONFLICTS_MAX: u32 = 20;

/// What a tick has done.
#[derive(Debug)]
pub struct Ticked {
    pub registry: Managers,
    pub processed: Vec<Processed>,
}

fn not_found(namespace: &str, manager: &str) -> Failure {
    let message = format!(
        "no manager has the file {MANAGERS}{manager} in the namespace \"{namespace}\"; list the \
         managers"
    );
    Failure::new(Code::ManagerNotFound, message).with("manager", manager)
}

impl Runtime {
    /// Brings the managers of a namespace up to date: those that are named, or all that are in
    /// progress. It does not wait for what it starts.
    ///
    /// # Errors
    /// A manager that is named has no file, or the storage fails.
    pub async fn tick_managers(
        &self,
        tenant: &Tenant,
        namespace: &Arc<str>,
        named: Option<&[String]>,
        cancel: &CancellationToken,
    ) -> Result<Ticked, Failure> {
        // One at a time in a namespace spares work; two start nothing twice all the same.
        let _turn = self.0.ticks.turn(tenant, namespace, cancel).await?;
        let begun = Instant::now();
        let by = Initiator {
            cancel: cancel.clone(),
            ..Initiator::system(tenant)
        };
        let files = self.manager_files(tenant, namespace).await?;
        let known: BTreeSet<&str> = files
            .iter()
            .filter_map(|file| manager_at(&file.path))
            .collect();
        let named: Option<BTreeSet<&str>> =
            named.map(|named| named.iter().map(|name| &**name).collect());
        if let Some(name) = named.iter().flatten().find(|name| !known.contains(*name)) {
            return Err(not_found(namespace, name));
        }
        let mut statuses: BTreeMap<String, Filed> = BTreeMap::new();
        let mut outcomes = BTreeMap::new();
        for name in known {
            let _slot = self.0.ticks.slot(tenant, cancel).await?;
            let is_wanted = named.as_ref().is_none_or(|named| named.contains(name));
            let ticked = self.tick_manager(&by, namespace, name, is_wanted).await?;
            // A file that has vanished meanwhile is in no list.
            if let Some((status, outcome)) = ticked {
                statuses.insert(name.to_owned(), status);
                if let Some(outcome) = outcome {
                    outcomes.insert(name.to_owned(), outcome);
                }
            }
        }
        let registry = self.file_managers(&by, namespace, &statuses).await?;
        measure::managers_ticked(begun);
        Ok(Ticked {
            registry,
            processed: outcomes.into_values().collect(),
        })
    }

    /// The files of managers, by path.
    pub async fn manager_files(
        &self,
        tenant: &Tenant,
        namespace: &str,
    ) -> Result<Vec<ListedFile>, Failure> {
        let mut files: Vec<ListedFile> = Vec::new();
        loop {
            let after = files.last().map(|file| Arc::clone(&file.path));
            let after = after.as_deref();
            let registry = &self.0.registry;
            let page = registry.files(tenant, namespace, MANAGERS, after, PAGE);
            let page = page.await?;
            let is_last = page.len() < PAGE;
            files.extend(page);
            if is_last {
                let is_folder = registry.folder(tenant, namespace).is_some();
                files.retain(|file| {
                    let name = manager_at(&file.path);
                    name.is_some_and(|name| !is_folder || is_manager_in_folder(name))
                });
                return Ok(files);
            }
        }
    }

    /// Writes the registry, if it is not as it should be.
    async fn file_managers(
        &self,
        by: &Initiator,
        namespace: &str,
        managers: &BTreeMap<String, Filed>,
    ) -> Result<Managers, Failure> {
        let path =
            FilePath::parse(REGISTRY).map_err(|error| Failure::internal(error.to_string()))?;
        if let Some(folder) = self.0.registry.folder(&by.tenant, namespace) {
            return file_in_folder(folder, &path, managers).await;
        }
        let mut conflicts = 0;
        loop {
            let mut session = self.session_for(by, attribution(by));
            let unit = session.unit()?;
            let before = File::content(unit, namespace, &path).await?;
            let before = before.as_deref();
            let filed = Managers::read(before.unwrap_or_default()).filed(managers);
            // A namespace without managers has no registry.
            let is_right = match before {
                None => managers.is_empty(),
                Some(before) => filed.is_written_as(before),
            };
            if is_right {
                return Ok(filed);
            }
            File::put(unit, namespace, &path, filed.text().into(), &Expected::Any).await?;
            match session.finish(&by.cancel).await {
                Ok(()) => return Ok(filed),
                Err(failure) if failure.code() == Code::Conflict && conflicts < CONFLICTS_MAX => {
                    conflicts += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
    }
}

/// The same in a folder.
async fn file_in_folder(
    folder: &Folder,
    path: &FilePath,
    managers: &BTreeMap<String, Filed>,
) -> Result<Managers, Failure> {
    let turn = folder.turn().await;
    let mut conflicts = 0;
    loop {
        let found = folder.look(path).await?;
        let before = found.as_ref().and_then(|found| found.text.as_deref().ok());
        let filed = Managers::read(before.unwrap_or_default()).filed(managers);
        let is_right = match (&found, before) {
            (None, _) => managers.is_empty(),
            (Some(_), before) => before.is_some_and(|before| filed.is_written_as(before)),
        };
        if is_right {
            return Ok(filed);
        }
        let expected = found.map_or(Expected::Absent, |found| Expected::of(&found.version));
        match folder.put(&turn, path, &filed.text(), &expected).await {
            Err(Error::FileModified { .. }) if conflicts < CONFLICTS_MAX => conflicts += 1,
            written => return Ok(written.map(|_| filed)?),
        }
    }
}

fn attribution(by: &Initiator) -> Attribution {
    Attribution {
        author: by.principal.actor.clone(),
        executor: None,
    }
}
