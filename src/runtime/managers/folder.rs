//! One manager at a tick whose file is in a folder that people edit.
//!
//! The file cannot be written in the commit that starts work. So a start has three parts, in this
//! order: the intent is stored, with the id that the work gets; the file is written, in which the
//! item names that id; the work is started under it, in a commit that also notes so with the
//! intent. If the process ends in between, the next tick does what is left: what the file names
//! and is not there is started if its intent says that it was not; an intent that the file does not
//! name is the next start of its item. So an item never has two ids at a time, and an id is used
//! once.
//!
//! The file is written only if it still is what was read: what somebody has written in the meantime
//! is read, and everything is computed again. A file that is saved from an older copy may have lost
//! an id again; as long as the end of that work was not taken over, the item gets it back.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    CONFLICTS_MAX, attribution,
    tick::{Processed, ROUNDS_MAX, StartedItem, StartedWork, is_internal},
    trouble::Trouble,
};
use crate::dialect::managers::{
    FilePath, Filed, ItemRef, Manager, ManagerStatus, Seen, Start, StateFile, Work, path_of,
};
use crate::error::{Code, Failure};
use crate::id::RunId;
use crate::registry::{Error, Expected, FileVersion, Folder, FolderTurn, IntendedItem, Intent};
use crate::runtime::{Initiator, Runtime, Session, again, runs::task_parts};

/// How many items are started in one commit.
const STARTS_MAX: usize = 250;

/// How many intents of a manager that is done are looked for at once.
const LEFT_MAX: usize = 1_000;

/// A manager's file, as it was read.
struct Read {
    manager: Manager,
    version: FileVersion,
}

/// An item that is to be started, under an id that the file names.
struct Owed {
    start: Start,
    /// The id of the run.
    work: Box<str>,
    item: IntendedItem,
    state_path: FilePath,
}

/// Items whose ends were taken over, and the runs of their work.
#[derive(Default)]
struct Over {
    items: Vec<IntendedItem>,
    runs: Vec<RunId>,
}

/// Which items there are, and what their intents are about.
type Items = BTreeMap<ItemRef, IntendedItem>;

/// What the starts of items came to.
#[derive(Default)]
struct Started {
    started: Vec<(ItemRef, StartedWork)>,
    /// Why work could not be started, by its id.
    failed: HashMap<Box<str>, String>,
}

/// How a manager stands once items were started.
struct InTurn {
    status: ManagerStatus,
    was_processed: bool,
    /// Whether others follow.
    are_more: bool,
}

/// One manager of a folder, at a tick.
struct InFolder<'t> {
    runtime: &'t Runtime,
    by: &'t Initiator,
    folder: &'t Folder,
    turn: FolderTurn,
    name: &'t str,
    path: FilePath,
}

impl Runtime {
    /// Ticks one manager whose file is in a folder, or only has it begin if it is not to be
    /// processed: how its file stands, and whether it was processed; none if its file has vanished.
    pub(super) async fn tick_in_folder(
        &self,
        by: &Initiator,
        folder: &Folder,
        name: &str,
        processes: bool,
        outcome: &mut Processed,
    ) -> Result<Option<(Filed, bool)>, Failure> {
        let one = InFolder {
            runtime: self,
            by,
            folder,
            turn: folder.turn().await,
            name,
            path: path_of(name).map_err(|error| Failure::internal(error.to_string()))?,
        };
        let (mut rounds, mut looks) = (1, true);
        loop {
            let ticked = match one.tick(processes, looks, outcome).await {
                Ok(ticked) => ticked,
                // The other managers are ticked all the same.
                Err(Trouble::File(reason)) => {
                    outcome.error = Some(reason);
                    return Ok(Some((None, processes)));
                }
                Err(Trouble::Failure(failure)) => return Err(failure),
            };
            let Some(InTurn {
                status,
                was_processed,
                are_more,
            }) = ticked
            else {
                return Ok(None);
            };
            if !are_more || rounds == ROUNDS_MAX {
                return Ok(Some((Some(status), was_processed)));
            }
            rounds += 1;
            looks = false;
        }
    }
}

impl InFolder<'_> {
    fn namespace(&self) -> &Arc<str> {
        self.folder.owner().1
    }

    fn session(&self) -> Session {
        self.runtime.session_for(self.by, attribution(self.by))
    }

    /// Looks how the work of the items stands, unless it just has, and starts those that come
    /// next; none if the file has vanished.
    async fn tick(
        &self,
        processes: bool,
        mut looks: bool,
        outcome: &mut Processed,
    ) -> Result<Option<InTurn>, Trouble> {
        for _ in 0..CONFLICTS_MAX {
            let Some(Read {
                mut manager,
                version,
            }) = self.read().await?
            else {
                return Ok(None);
            };
            manager.promote();
            let processes = processes && manager.status == ManagerStatus::InProgress;
            let mut owed = Vec::new();
            let mut over = Over::default();
            let mut are_more = false;
            if processes {
                let mut seen = BTreeMap::new();
                // What somebody has written in the meantime is looked at.
                if std::mem::replace(&mut looks, true) {
                    let Some(found) = self.seen(&manager, outcome).await? else {
                        continue;
                    };
                    seen = found;
                }
                let items = items_of(self.name, &manager);
                let awaited = manager.awaited();
                let next = self.runtime.next_starts(self.by, self.name, manager, seen);
                let starts;
                (manager, starts) = next.await?;
                are_more = starts.are_more;
                let Some(intended) = self.intend(&mut manager, &items, starts.now).await? else {
                    continue;
                };
                owed = intended;
                let work = manager.ended_work(&awaited);
                over = Over {
                    runs: self.runtime.runs_of_work(self.by, &work).await?,
                    items: work.into_iter().filter_map(intended_for).collect(),
                };
            }
            if let Some(text) = manager.edited() {
                let expected = Expected::of(&version);
                let written = self.folder.put(&self.turn, &self.path, &text, &expected);
                match written.await {
                    Ok(_) => outcome.changed = true,
                    // Somebody has written it, or taken it away: it is read again.
                    Err(Error::FileModified { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            let mut status = manager.status;
            if !owed.is_empty() {
                let failed = self.start(&manager, owed, outcome).await?;
                if !failed.is_empty() {
                    status = self.fail(&failed).await?.unwrap_or(status);
                }
            }
            self.forget(over, status).await?;
            return Ok(Some(InTurn {
                status,
                was_processed: processes,
                are_more,
            }));
        }
        Err(Trouble::keeps_changing(&self.path))
    }

    /// The manager as its file is; none if it is not there.
    async fn read(&self) -> Result<Option<Read>, Trouble> {
        let Some(found) = self.folder.look(&self.path).await? else {
            return Ok(None);
        };
        let text = found.text;
        let text = text.map_err(|reason| Trouble::File(reason.to_string()))?;
        let manager = self.runtime.read_manager(self.by, text).await?;
        let manager = manager.map_err(|error| Trouble::File(error.to_string()))?;
        Ok(Some(Read {
            manager,
            version: found.version,
        }))
    }

    /// How the work of the items stands that are in progress. What an earlier tick has not got to
    /// start is started now; none if the file has to be read again after that.
    async fn seen(
        &self,
        manager: &Manager,
        outcome: &mut Processed,
    ) -> Result<Option<BTreeMap<ItemRef, Seen>>, Trouble> {
        let mut seen = BTreeMap::new();
        let mut owed = Vec::new();
        // Items may share a state file.
        let mut states: HashMap<&FilePath, StateFile> = HashMap::new();
        let mut session = self.session();
        for of in manager.awaited() {
            let item = &manager.workers[of.worker].items[of.item];
            let Ok(path) = &item.state_path else {
                continue;
            };
            let state = match states.get(path) {
                Some(state) => state.clone(),
                None => states
                    .entry(path)
                    .or_insert(self.state(path).await?)
                    .clone(),
            };
            let mut work = match &item.work {
                None => Work::None,
                Some(work) => self.runtime.work(self.by, work).await?,
            };
            if work == Work::Gone
                && let Some(named) = &item.work
                && let Some(one) = self.owed(&mut session, manager, of, named).await?
            {
                work = Work::Running;
                owed.push(one);
            }
            seen.insert(of, Seen { state, work });
        }
        if owed.is_empty() {
            return Ok(Some(seen));
        }
        for one in &owed {
            if let Some(seen) = seen.get_mut(&one.start.of) {
                seen.state = StateFile::Absent;
            }
        }
        let failed = self.start(manager, owed, outcome).await?;
        if failed.is_empty() {
            return Ok(Some(seen));
        }
        self.fail(&failed).await?;
        Ok(None)
    }

    /// What the state file of an item says.
    async fn state(&self, path: &FilePath) -> Result<StateFile, Trouble> {
        match self.folder.look(path).await {
            Ok(None) => Ok(StateFile::Absent),
            Ok(Some(found)) => Ok(match found.text {
                Ok(text) => self.runtime.read_state(self.by, text).await?,
                Err(reason) => {
                    StateFile::nonsense(&format!("the state file is unusable: {reason}"))
                }
            }),
            Err(error @ Error::NotAFile { .. }) => Ok(StateFile::nonsense(&error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// The start of an item whose work is not there, if the intent of that work is that it was not
    /// started yet.
    async fn owed(
        &self,
        session: &mut Session,
        manager: &Manager,
        of: ItemRef,
        named: &str,
    ) -> Result<Option<Owed>, Trouble> {
        let Some(item) = intended_for(named) else {
            return Ok(None);
        };
        let intent = Intent::find(session.unit()?, self.namespace(), &item).await?;
        let intent = intent.filter(|intent| !intent.is_started && *intent.work == *run_of(named));
        let Some(intent) = intent else {
            return Ok(None);
        };
        // Nothing can be started of an item that has been changed to one that has no target.
        let Ok(start) = manager.start_of(self.name, of) else {
            return Ok(None);
        };
        let Ok(state_path) = manager.workers[of.worker].items[of.item].state_path.clone() else {
            return Ok(None);
        };
        Ok(Some(Owed {
            start,
            work: intent.work,
            item,
            state_path,
        }))
    }

    /// Gives ids to items that are to be started, and stores their intents; what is to be started
    /// once the file names them. None if somebody else was faster.
    async fn intend(
        &self,
        manager: &mut Manager,
        items: &Items,
        starts: Vec<Start>,
    ) -> Result<Option<Vec<Owed>>, Trouble> {
        let mut owed = Vec::new();
        if starts.is_empty() {
            return Ok(Some(owed));
        }
        let mut session = self.session();
        let mut is_new = false;
        for start in starts {
            let of = start.of;
            let named = &manager.workers[of.worker].items[of.item];
            let (named, state_path) = (named.work.clone(), named.state_path.clone());
            let (Some(item), Ok(state_path)) = (items.get(&of), state_path) else {
                continue;
            };
            let unit = session.unit()?;
            let known = Intent::find(unit, self.namespace(), item).await?;
            let work = match known {
                Some(known) if !known.is_started => known.work,
                // The file was saved from a copy that is older than the start.
                Some(known) if named.is_none() && self.is_there(&known.work).await? => {
                    let id = self.id_of(&mut session, &start.target, &known.work).await?;
                    manager.started(of, &id);
                    continue;
                }
                _ => {
                    is_new = true;
                    let work = item.work(unit.id());
                    let intent = Intent {
                        work: work.clone(),
                        is_started: false,
                    };
                    intent.put(unit, self.namespace(), item)?;
                    work
                }
            };
            let id = self.id_of(&mut session, &start.target, &work).await?;
            manager.started(of, &id);
            owed.push(Owed {
                start,
                work,
                item: item.clone(),
                state_path,
            });
        }
        if is_new {
            match session.finish(&self.by.cancel).await {
                Ok(()) => {}
                Err(failure) if failure.code() == Code::Conflict => return Ok(None),
                Err(failure) => return Err(failure.into()),
            }
        }
        Ok(Some(owed))
    }

    async fn is_there(&self, work: &str) -> Result<bool, Failure> {
        Ok(self.runtime.work(self.by, work).await? != Work::Gone)
    }

    /// The id that the file names: of a run, or of the task for a member.
    async fn id_of(
        &self,
        session: &mut Session,
        target: &str,
        work: &str,
    ) -> Result<String, Trouble> {
        let registry = &self.runtime.0.registry;
        let found = registry.definition_in(session.unit()?, self.namespace(), target, None);
        Ok(match found.await {
            Err(Error::DefinitionNotFound { .. }) => format!("{work}.1"),
            // What else is wrong with it is said by the start.
            Ok(_) | Err(_) => work.to_owned(),
        })
    }

    /// Starts what the file names, and notes so; what could not be started, and why.
    async fn start(
        &self,
        manager: &Manager,
        owed: Vec<Owed>,
        outcome: &mut Processed,
    ) -> Result<HashMap<Box<str>, String>, Trouble> {
        for one in &owed {
            self.forget_state(&one.state_path).await?;
        }
        let mut all_failed = HashMap::new();
        for part in owed.chunks(STARTS_MAX) {
            let Started { started, failed } = again(|| self.start_part(part)).await?;
            all_failed.extend(failed);
            outcome
                .started
                .extend(started.into_iter().map(|(of, work)| StartedItem {
                    worker: manager.workers[of.worker].order,
                    item: of.item,
                    work,
                }));
        }
        Ok(all_failed)
    }

    /// The same of so many as one commit takes.
    async fn start_part(&self, part: &[Owed]) -> Result<Started, Failure> {
        let mut session = self.session();
        let mut result = Started::default();
        for one in part {
            let mark = session.unit()?.mark();
            let started = self.start_one(&mut session, one).await;
            let unit = session.unit()?;
            match started {
                Ok(work) => {
                    unit.release(mark);
                    result.started.push((one.start.of, work));
                }
                // The service cannot at the moment; a later tick starts the item.
                Err(failure) if failure.retryable() || is_internal(&failure) => {
                    return Err(failure);
                }
                Err(failure) => {
                    unit.roll_back_to(&mark);
                    unit.release(mark);
                    let reason = format!("{}: {}", failure.code().as_str(), failure.message());
                    result.failed.insert(one.work.clone(), reason);
                }
            }
        }
        session.finish(&self.by.cancel).await?;
        Ok(result)
    }

    async fn start_one(&self, session: &mut Session, one: &Owed) -> Result<StartedWork, Failure> {
        let namespace = self.namespace();
        let intent = Intent::find(session.unit()?, namespace, &one.item).await?;
        let is_here = intent.is_some_and(|intent| intent.is_started && intent.work == one.work);
        let (target, payload) = (&one.start.target, one.start.payload.clone());
        let id = Some(one.work.clone());
        let starting = async {
            if is_here {
                return Err(Failure::new(Code::RunExists, "it was started already"));
            }
            let by = self.by;
            let starting = self
                .runtime
                .start_workflow(session, by, namespace, target, payload, id);
            starting.await
        };
        let work = match starting.await {
            // It was started under this id: once.
            Err(failure) if failure.code() == Code::RunExists => {
                StartedWork::Run(one.work.clone().into())
            }
            started => started?,
        };
        let intent = Intent {
            work: one.work.clone(),
            is_started: true,
        };
        intent.put(session.unit()?, namespace, &one.item)?;
        Ok(work)
    }

    /// Has a state file of earlier work not count for the work that begins. Work must not begin
    /// where that is not certain: the end of earlier work would count as its own.
    async fn forget_state(&self, path: &FilePath) -> Result<(), Trouble> {
        for _ in 0..CONFLICTS_MAX {
            let found = match self.folder.look(path).await {
                Ok(Some(found)) => found,
                // What is no file says nothing of earlier work; that is reported when it counts.
                Ok(None) | Err(Error::NotAFile { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let text = found
                .text
                .ok()
                .and_then(|text| StateFile::begun_again(&text));
            let Some(text) = text else {
                return Ok(());
            };
            let expected = Expected::of(&found.version);
            match self.folder.put(&self.turn, path, &text, &expected).await {
                Err(Error::FileModified { .. }) => {}
                written => return Ok(written.map(|_| ())?),
            }
        }
        Err(Trouble::keeps_changing(path))
    }

    /// Notes why work could not be started; how the manager stands then, if its file is there.
    async fn fail(
        &self,
        failed: &HashMap<Box<str>, String>,
    ) -> Result<Option<ManagerStatus>, Trouble> {
        for _ in 0..CONFLICTS_MAX {
            let Some(Read {
                mut manager,
                version,
            }) = self.read().await?
            else {
                return Ok(None);
            };
            let awaited = manager.awaited().into_iter();
            let not_started = awaited.filter_map(|of| {
                let named = manager.workers[of.worker].items[of.item].work.as_deref()?;
                Some((of, failed.get(run_of(named))?.clone()))
            });
            let not_started: Vec<_> = not_started.collect();
            manager.not_started(&not_started);
            let Some(text) = manager.edited() else {
                return Ok(Some(manager.status));
            };
            let expected = Expected::of(&version);
            match self
                .folder
                .put(&self.turn, &self.path, &text, &expected)
                .await
            {
                Err(Error::FileModified { .. }) => {}
                written => return Ok(written.map(|_| Some(manager.status))?),
            }
        }
        Err(Trouble::keeps_changing(&self.path))
    }

    /// Forgets the intents of items whose end was taken over; of a manager that is done, all.
    async fn forget(&self, over: Over, status: ManagerStatus) -> Result<(), Trouble> {
        let namespace = self.namespace();
        let Over { mut items, runs } = over;
        if status == ManagerStatus::Done {
            let (registry, tenant) = (&self.runtime.0.registry, &self.by.tenant);
            let left = registry.intended_items(tenant, namespace, self.name, LEFT_MAX);
            items.extend(left.await?);
        }
        items.sort();
        items.dedup();
        if items.is_empty() && runs.is_empty() {
            return Ok(());
        }
        Ok(again(|| self.forget_once(&items, &runs)).await?)
    }

    async fn forget_once(&self, items: &[IntendedItem], runs: &[RunId]) -> Result<(), Failure> {
        let namespace = self.namespace();
        let mut session = self.session();
        let unit = session.unit()?;
        let mut is_changed = false;
        for item in items {
            if Intent::find(unit, namespace, item).await?.is_some() {
                Intent::forget(unit, namespace, item)?;
                is_changed = true;
            }
        }
        for run in runs {
            is_changed |= unit.end_taken_over(*run).await?;
        }
        if !is_changed {
            return Ok(());
        }
        session.finish(&self.by.cancel).await
    }
}

/// The run of what a file names, which may be the run's task.
fn run_of(named: &str) -> &str {
    task_parts(named).map_or(named, |(run, _)| run)
}

fn intended_for(named: &str) -> Option<IntendedItem> {
    IntendedItem::of_work(run_of(named))
}

/// What the intents of all items are about that may be started.
fn items_of(name: &str, manager: &Manager) -> Items {
    let mut counts: HashMap<(&str, &FilePath), usize> = HashMap::new();
    let mut items = Items::new();
    for (worker, known) in manager.workers.iter().enumerate() {
        let Ok(target) = &known.target else { continue };
        for (item, one) in known.items.iter().enumerate() {
            let Ok(path) = &one.state_path else { continue };
            let count = counts.entry((target, path)).or_default();
            let intended = IntendedItem::new(name, target, path, *count);
            *count += 1;
            items.insert(ItemRef { worker, item }, intended);
        }
    }
    items
}
