//! One manager at a tick: read, brought up to date and committed with what it starts.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{CONFLICTS_MAX, attribution, quiet::Known};
use crate::dialect::managers::{
    FilePath, Filed, ItemRef, Manager, ManagerStatus, NotAManager, Seen, Starts, StateFile, Work,
    path_of, text_of,
};
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::{Payload, Run, Status};
use crate::registry::{Expected, File, ListedFile};
use crate::runtime::{Initiator, Runtime, Session};
use crate::storage::Watch;

/// What a tick has done with a manager.
#[derive(Debug)]
pub struct Processed {
    /// The name of its file.
    pub manager: String,
    /// None if its file is not a manager.
    pub status: Option<ManagerStatus>,
    /// Whether its file was written.
    pub changed: bool,
    pub started: Vec<StartedItem>,
    /// Why nothing was done, or nothing more.
    pub error: Option<String>,
}

/// An item whose work was started.
#[derive(Debug, Clone)]
pub struct StartedItem {
    /// The order of its worker.
    pub worker: Option<i64>,
    /// Its place among the items of the worker.
    pub item: usize,
    pub work: StartedWork,
}

/// What was started for an item.
#[derive(Debug, Clone)]
pub enum StartedWork {
    Run(String),
    Task(String),
}

/// What a commit starts.
#[derive(Default)]
struct Begun {
    started: Vec<StartedItem>,
    /// Whether others follow in the next commit.
    are_more: bool,
}

impl StartedWork {
    pub fn id(&self) -> &str {
        match self {
            Self::Run(id) | Self::Task(id) => id,
        }
    }
}

/// How a manager's file stands after a tick, and what was done with it if it was processed.
pub(super) type Ticked = (Filed, Option<Processed>);

/// How many times in a row items of a manager are started, each time in a commit of its own. What
/// is left then is started by the next tick.
pub(super) const ROUNDS_MAX: usize = 64;

impl Processed {
    pub(super) fn of(manager: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            status: None,
            changed: false,
            started: Vec::new(),
            error: None,
        }
    }
}

impl Runtime {
    /// Ticks one manager, or only has it begin if it is not to be processed: how its file stands,
    /// and whether it was processed; none if its file has vanished.
    pub(super) async fn tick_manager(
        &self,
        by: &Initiator,
        namespace: &Arc<str>,
        file: &ListedFile,
        name: &str,
        processes: bool,
        outcome: &mut Processed,
    ) -> Result<Option<(Filed, bool)>, Failure> {
        if let Some(folder) = self.0.registry.folder(&by.tenant, namespace) {
            let ticking = self.tick_in_folder(by, folder, name, processes, outcome);
            return ticking.await;
        }
        let keep = |status, error, watch| {
            let known = Known::new(file.version.clone(), status, error, watch);
            let quiet = &self.0.ticks.quiet;
            quiet.keep(&by.tenant, namespace, &file.path, known);
        };
        let path = path_of(name).map_err(|error| Failure::internal(error.to_string()))?;
        let (mut conflicts, mut rounds) = (0, 1);
        // Not again after items were started.
        let mut looks = true;
        loop {
            let mut session = self.session_for(by, attribution(by));
            let content = File::content(session.unit()?, namespace, &path).await?;
            let Some(content) = content else {
                return Ok(None);
            };
            let mut manager = match self.read_manager(by, content).await? {
                Ok(manager) => manager,
                Err(error) => {
                    outcome.error = Some(error.to_string());
                    keep(None, outcome.error.clone(), None);
                    return Ok(Some((None, processes)));
                }
            };
            manager.promote();
            let processes = processes && manager.status == ManagerStatus::InProgress;
            let mut watch = self.storage().watch();
            let mut begun = Begun::default();
            if processes {
                let seen = if looks {
                    let seen = self.seen(&mut session, &mut watch, by, namespace, &manager);
                    seen.await?
                } else {
                    BTreeMap::new()
                };
                let awaited = manager.awaited();
                let starts;
                (manager, starts) = self.next_starts(by, name, manager, seen).await?;
                let starting = self.start_items(&mut session, by, namespace, &mut manager, starts);
                begun = starting.await?;
                let over = manager.ended_work(&awaited);
                for run in self.runs_of_work(by, &over).await? {
                    session.unit()?.end_taken_over(run).await?;
                }
            }
            let filed = Some(manager.status);
            let Some(text) = self.edited(by, manager).await? else {
                if looks {
                    keep(filed, None, processes.then_some(watch));
                }
                return Ok(Some((filed, processes)));
            };
            let unit = session.unit()?;
            File::put(unit, namespace, &path, text.into(), &Expected::Any).await?;
            match session.finish(&by.cancel).await {
                Ok(()) => {}
                // Somebody has written a file that was read: it is read again.
                Err(failure) if failure.code() == Code::Conflict && conflicts < CONFLICTS_MAX => {
                    conflicts += 1;
                    looks = true;
                    continue;
                }
                Err(failure) => return Err(failure),
            }
            outcome.changed = true;
            outcome.started.extend(begun.started);
            if !begun.are_more || rounds == ROUNDS_MAX {
                return Ok(Some((filed, processes)));
            }
            rounds += 1;
            looks = false;
        }
    }

    pub(super) async fn read_manager(
        &self,
        by: &Initiator,
        text: Arc<str>,
    ) -> Result<Result<Manager, NotAManager>, Failure> {
        self.apart_if_large_file(by, text.len(), move || Manager::read(&text))
            .await
    }

    /// Brings a manager up to date with what was seen, and says what is to be started.
    pub(super) async fn next_starts(
        &self,
        by: &Initiator,
        file: &str,
        mut manager: Manager,
        seen: BTreeMap<ItemRef, Seen>,
    ) -> Result<(Manager, Starts), Failure> {
        let file = file.to_owned();
        self.apart_if_large_file(by, manager.bytes(), move || {
            let starts = manager.tick(&file, &seen);
            (manager, starts)
        })
        .await
    }

    /// The text of a manager with what has changed; none if nothing has.
    async fn edited(&self, by: &Initiator, manager: Manager) -> Result<Option<String>, Failure> {
        self.apart_if_large_file(by, manager.bytes(), move || manager.edited())
            .await
    }

    /// How the work of the items stands that are in progress. The watch is disturbed by whatever
    /// changes that.
    async fn seen(
        &self,
        session: &mut Session,
        watch: &mut Watch,
        by: &Initiator,
        namespace: &str,
        manager: &Manager,
    ) -> Result<BTreeMap<ItemRef, Seen>, Failure> {
        let mut seen = BTreeMap::new();
        // Items may share a state file.
        let mut states: HashMap<&FilePath, StateFile> = HashMap::new();
        for of in manager.awaited() {
            let item = &manager.workers[of.worker].items[of.item];
            let Ok(path) = &item.state_path else {
                continue;
            };
            let state = if let Some(state) = states.get(path) {
                state.clone()
            } else {
                watch.file(&by.tenant, namespace, path.as_str());
                let content = File::content(session.unit()?, namespace, path).await?;
                let state = match content {
                    None => StateFile::Absent,
                    Some(content) => self.read_state(by, content).await?,
                };
                states.entry(path).or_insert(state).clone()
            };
            let work = match &item.work {
                None => Work::None,
                Some(work) => self.watched_work(by, work, watch).await?,
            };
            seen.insert(of, Seen { state, work });
        }
        Ok(seen)
    }

    pub(super) async fn read_state(
        &self,
        by: &Initiator,
        text: Arc<str>,
    ) -> Result<StateFile, Failure> {
        self.apart_if_large_file(by, text.len(), move || StateFile::read(&text))
            .await
    }

    /// How a run or task stands that was started for an item.
    pub(super) async fn work(&self, by: &Initiator, work: &str) -> Result<Work, Failure> {
        let mut watch = self.storage().watch();
        self.watched_work(by, work, &mut watch).await
    }

    /// How a run or task stands that was started for an item; the watch is disturbed when it ends.
    async fn watched_work(
        &self,
        by: &Initiator,
        work: &str,
        watch: &mut Watch,
    ) -> Result<Work, Failure> {
        let tenant = &by.tenant;
        let run = match self.run_of_work(tenant, work).await {
            Err(failure) if is_not_found(&failure) => return Ok(Work::Gone),
            found => found?,
        };
        watch.run(run);
        let Some(stored) = self.storage().run(tenant, run).await? else {
            return Ok(Work::Gone);
        };
        let state = self.run_state(&stored)?;
        let run = &state.run;
        Ok(match run.status {
            Status::Completed => Work::Completed,
            Status::Pending | Status::Running | Status::Waiting => Work::Running,
            Status::Failed | Status::Cancelled | Status::TimedOut => {
                let why = match self.answer_of(by, work).await? {
                    None => run
                        .error
                        .as_ref()
                        .map(|error| error.message.to_string())
                        .or_else(|| reason_of(run)),
                    answer => answer,
                };
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                Work::failed(&format!("{work} ended {}{why}", run.status.as_str()))
            }
        })
    }

    /// The runs of work that was started for items, of those that are there.
    pub(super) async fn runs_of_work(
        &self,
        by: &Initiator,
        work: &[&str],
    ) -> Result<Vec<RunId>, Failure> {
        let mut runs = Vec::new();
        for work in work {
            match self.run_of_work(&by.tenant, work).await {
                Err(failure) if is_not_found(&failure) => {}
                found => runs.push(found?),
            }
        }
        Ok(runs)
    }

    async fn run_of_work(&self, tenant: &Tenant, work: &str) -> Result<RunId, Failure> {
        let found = self.find_run(tenant, work).await;
        if found.as_ref().is_err_and(is_not_found)
            && let Some((run, _)) = crate::runtime::runs::task_parts(work)
        {
            return self.find_run(tenant, run).await;
        }
        found
    }

    /// What was answered to a task that failed; none of a run.
    async fn answer_of(&self, by: &Initiator, work: &str) -> Result<Option<String>, Failure> {
        let task = match self.shown_task(&by.tenant, work).await {
            Err(failure) if failure.code() == Code::TaskNotFound => return Ok(None),
            task => task?,
        };
        let output = task.output.as_deref();
        Ok(output.and_then(|output| text_of(output, "error")))
    }

    /// Starts what is to be started of a manager, in the transaction of a session.
    async fn start_items(
        &self,
        session: &mut Session,
        by: &Initiator,
        namespace: &Arc<str>,
        manager: &mut Manager,
        starts: Starts,
    ) -> Result<Begun, Failure> {
        let mut begun = Begun {
            are_more: starts.are_more,
            ..Begun::default()
        };
        let mut failed = Vec::new();
        for start in starts.now {
            let of = start.of;
            let mark = session.unit()?.mark();
            let target = start.target;
            let starting =
                self.start_workflow(session, by, namespace, &target, start.payload, None);
            match starting.await {
                Ok(work) => {
                    session.unit()?.release(mark);
                    let worker = &manager.workers[of.worker];
                    let (order, path) = (worker.order, worker.items[of.item].state_path.clone());
                    if let Ok(path) = path {
                        forget_state(session, namespace, &path).await?;
                    }
                    manager.started(of, work.id());
                    begun.started.push(StartedItem {
                        worker: order,
                        item: of.item,
                        work,
                    });
                }
                // The service cannot at the moment; the item is started by a later tick.
                Err(failure) if failure.retryable() || is_internal(&failure) => {
                    return Err(failure);
                }
                Err(failure) => {
                    let unit = session.unit()?;
                    unit.roll_back_to(&mark);
                    unit.release(mark);
                    let code = failure.code().as_str();
                    failed.push((of, format!("{code}: {}", failure.message())));
                }
            }
        }
        manager.not_started(&failed);
        Ok(begun)
    }
}

/// Has a state file of earlier work not count for the work that begins.
async fn forget_state(
    session: &mut Session,
    namespace: &str,
    path: &FilePath,
) -> Result<(), Failure> {
    let unit = session.unit()?;
    let content = File::content(unit, namespace, path).await?;
    if let Some(text) = content.and_then(|content| StateFile::begun_again(&content)) {
        File::put(unit, namespace, path, text.into(), &Expected::Any).await?;
    }
    Ok(())
}

/// What a step of a run says that failed, where the run itself says nothing.
fn reason_of(run: &Run) -> Option<String> {
    let results = run.results.values();
    let failed = results.filter(|result| &*result.outcome != "success");
    failed.into_iter().find_map(|result| match &result.output {
        Payload::Inline(text) => text_of(text, "error").or_else(|| text_of(text, "message")),
        Payload::At(_) => None,
    })
}

fn is_not_found(failure: &Failure) -> bool {
    failure.code() == Code::RunNotFound
}

/// Whether a failure is of one manager, and not of the service or its storage.
pub(super) fn is_of_one(failure: &Failure) -> bool {
    !is_internal(failure) && failure.code() != Code::StorageUnavailable
}

pub(super) fn is_internal(failure: &Failure) -> bool {
    matches!(
        failure.code(),
        Code::Cancelled | Code::OutcomeUnknown | Code::ServerError | Code::StorageDamaged
    )
}
