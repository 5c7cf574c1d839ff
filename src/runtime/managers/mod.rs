//! Managers: ticks over the files of a namespace (`runs.md` §8).
//!
//! The files are the truth, because people edit them. A tick reads a manager's file and what its
//! items wait for, computes what follows, and commits that with the work it starts; an edit made
//! meanwhile is a conflict, after which it is computed again. There is no lock.

mod folder;
mod quiet;
mod run;
mod schedule;
mod start;
mod tick;
mod trouble;
mod turns;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Initiator, Runtime, again};
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
        let files = files.iter();
        let files = files.filter_map(|file| Some((manager_at(&file.path)?, file)));
        let known: BTreeMap<&str, &ListedFile> = files.collect();
        let asked_for = || named.into_iter().flatten();
        if let Some(name) = asked_for().find(|name| !known.contains_key(&***name)) {
            return Err(not_found(namespace, name));
        }
        let named: Option<BTreeSet<&str>> =
            named.map(|named| named.iter().map(|name| &**name).collect());
        let takes_one = named.is_none() && self.0.settings.runs.one_manager_per_tick;
        let order = self.managers_in_order(&by, namespace, &known).await?;
        let mut statuses: BTreeMap<String, Filed> = BTreeMap::new();
        let mut processed: Vec<Processed> = Vec::new();
        let mut failed: Option<Failure> = None;
        for name in order {
            let is_wanted = match &named {
                Some(named) => named.contains(name),
                // One whose file is not a manager is reported, and is none of those.
                None => !takes_one || processed.iter().all(|one| one.status.is_none()),
            };
            let file = known[name];
            let ticked = self.tick_if_due(&by, namespace, file, name, is_wanted);
            let ticked = match ticked.await {
                // It stays where it is in the registry, and the others are ticked all the same.
                Err(failure) if tick::is_internal(&failure) && !cancel.is_cancelled() => {
                    warn!(failure = %failure.in_full(), %tenant, manager = name, "a manager could not be ticked");
                    failed.get_or_insert(failure);
                    Some((None, None))
                }
                ticked => ticked?,
            };
            // A file that has vanished meanwhile is in no list.
            if let Some((status, outcome)) = ticked {
                statuses.insert(name.to_owned(), status);
                processed.extend(outcome);
            }
        }
        let registry = self.file_managers(&by, namespace, &statuses).await?;
        measure::managers_ticked(begun);
        if let Some(failure) = failed {
            return Err(failure);
        }
        Ok(Ticked {
            registry,
            processed,
        })
    }

    /// The names of managers in the order in which they are processed: those of the registry as
    /// they stand there, then those that are new.
    async fn managers_in_order<'a>(
        &self,
        by: &Initiator,
        namespace: &str,
        known: &BTreeMap<&'a str, &ListedFile>,
    ) -> Result<Vec<&'a str>, Failure> {
        let path = registry_path()?;
        let registry = if let Some(folder) = self.0.registry.folder(&by.tenant, namespace) {
            let found = folder.look(&path).await?;
            let written = found.as_ref().and_then(|found| found.text.as_deref().ok());
            Managers::read(written.unwrap_or_default())
        } else {
            let mut session = self.session_for(by, attribution(by));
            let written = File::content(session.unit()?, namespace, &path).await?;
            Managers::read(written.as_deref().unwrap_or_default())
        };
        let mut seen = BTreeSet::new();
        let mut order = Vec::with_capacity(known.len());
        for name in registry.lists().flat_map(|(_, names)| names) {
            if let Some((name, _)) = known.get_key_value(&**name)
                && seen.insert(*name)
            {
                order.push(*name);
            }
        }
        order.extend(known.keys().filter(|name| !seen.contains(*name)));
        Ok(order)
    }

    /// Ticks one manager, unless nothing has changed since a tick had nothing to write.
    async fn tick_if_due(
        &self,
        by: &Initiator,
        namespace: &Arc<str>,
        file: &ListedFile,
        name: &str,
        processes: bool,
    ) -> Result<Option<tick::Ticked>, Failure> {
        let (ticks, tenant) = (&self.0.ticks, &by.tenant);
        let known = ticks
            .quiet
            .get(tenant, namespace, &file.path, &file.version, processes);
        if let Some(known) = known {
            return Ok(Some(known.ticked(name, processes)));
        }
        let _slot = ticks.slot(tenant, &by.cancel).await?;
        measure::manager_read();
        let mut outcome = Processed::of(name);
        let ticking = self.tick_manager(by, namespace, file, name, processes, &mut outcome);
        // What it holds while it works is much more than what a manager needs that is not read.
        match Box::pin(ticking).await {
            Ok(ticked) => Ok(ticked.map(|(status, was_processed)| {
                outcome.status = status;
                (status, was_processed.then_some(outcome))
            })),
            Err(failure) if tick::is_of_one(&failure) && !by.cancel.is_cancelled() => {
                warn!(failure = %failure.in_full(), %tenant, manager = name, "a manager could not be ticked");
                let code = failure.code().as_str();
                outcome.error = Some(format!("{code}: {}", failure.message()));
                Ok(Some((None, processes.then_some(outcome))))
            }
            Err(failure) => Err(failure),
        }
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
        let path = registry_path()?;
        if let Some(folder) = self.0.registry.folder(&by.tenant, namespace) {
            return file_in_folder(folder, &path, managers).await;
        }
        let file = || async {
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
            session.finish(&by.cancel).await?;
            Ok(filed)
        };
        again(file).await
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

fn registry_path() -> Result<FilePath, Failure> {
    FilePath::parse(REGISTRY).map_err(|error| Failure::internal(error.to_string()))
}

fn attribution(by: &Initiator) -> Attribution {
    Attribution {
        author: by.principal.actor.clone(),
        executor: None,
    }
}
