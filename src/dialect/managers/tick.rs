//! One tick of one manager: what its items come to, and what is to be started
//! (`orchestration.md` 3.2, step 5).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    document::{Manager, REASON_BYTES_MAX, json_within},
    status::{ManagerStatus, WorkStatus},
    text::{Edits, Object},
};
use crate::dialect::flo::MANAGER;
use crate::text::shortened;

/// How many items a tick starts together, and how many bytes of the document are read at most to
/// start them; one item may need more. The options of a worker are read for each of its items.
const STARTS_MAX: usize = 1_000;
const START_BYTES_MAX: usize = 4 << 20;

/// An item: the place of its worker and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemRef {
    /// In the order in which workers are processed.
    pub worker: usize,
    pub item: usize,
}

/// What the file at an item's `state_path` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateFile {
    Absent,
    /// It says how the work stands; of work that failed, why, as JSON.
    Says(WorkStatus, Option<Arc<str>>),
    /// It cannot be read, and why.
    Nonsense(Arc<str>),
}

/// How the run or task stands that was started for an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Nothing is known to have been started.
    None,
    Running,
    Completed,
    /// It failed, was cancelled or timed out.
    Failed(String),
    /// What the item names is not there.
    Gone,
}

/// What a tick has found of an item that is in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub state: StateFile,
    pub work: Work,
}

/// Work to be started for an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub of: ItemRef,
    /// `<configuration_code>:<user_code>`.
    pub target: String,
    /// JSON.
    pub payload: String,
}

/// What a tick has to be started.
#[derive(Debug, Default)]
pub struct Starts {
    pub now: Vec<Start>,
    /// Whether others are to be started as soon as these are.
    pub are_more: bool,
}

impl Work {
    /// It failed, with the beginning of the reason if that is long.
    pub fn failed(why: &str) -> Self {
        Self::Failed(shortened(why, REASON_BYTES_MAX).into_owned())
    }
}

impl StateFile {
    /// A file that cannot be read, with the beginning of the reason if that is long.
    pub fn nonsense(why: &str) -> Self {
        Self::Nonsense(shortened(why, REASON_BYTES_MAX).into())
    }

    /// Reads the content of a file. Of the reason it keeps the beginning if it is long: items may
    /// share the file, and each gets the reason.
    pub fn read(content: &str) -> Self {
        let nonsense = |what: &str| Self::nonsense(&format!("the state file {what}"));
        let Ok(object) = Object::of_text(content) else {
            return nonsense("is not a JSON object");
        };
        let status = match object.text(content, "status") {
            Ok(Some(status)) => status,
            Ok(None) => return nonsense("has no `status`"),
            Err(()) => return nonsense("has a `status` that is not a text"),
        };
        let Some(status) = WorkStatus::from_name(&status) else {
            return nonsense(&format!("has the unknown status `{status}`"));
        };
        let error = object.raw(content, "error");
        let error = error.filter(|error| *error != "null");
        let error = error.map(|error| json_within(error, REASON_BYTES_MAX).into());
        Self::Says(status, error)
    }

    /// A state file of earlier work, as one that says that the work is in progress again; none if
    /// it says so already.
    pub fn begun_again(content: &str) -> Option<String> {
        let object = Object::of_text(content).ok()?;
        let said = object.text(content, "status").ok()??;
        WorkStatus::from_name(&said).filter(|status| status.is_finished())?;
        let mut changed = vec![("status", "\"in-progress\"".to_owned())];
        if object.member("error").is_some() {
            changed.push(("error", "null".to_owned()));
        }
        let mut edits = Edits::default();
        edits.set(content, &object, &changed);
        edits.apply(content)
    }
}

impl Manager {
    /// The items of which a tick wants to know how their work stands.
    pub fn awaited(&self) -> Vec<ItemRef> {
        let mut awaited = Vec::new();
        for (worker, known) in self.workers.iter().enumerate() {
            if known.status.is_finished() {
                continue;
            }
            let items = known.items.iter().enumerate();
            let items = items.filter(|(_, item)| item.status == WorkStatus::InProgress);
            awaited.extend(items.map(|(item, _)| ItemRef { worker, item }));
        }
        awaited
    }

    /// The work of those of these items whose end was taken over.
    pub fn ended_work(&self, awaited: &[ItemRef]) -> Vec<&str> {
        let items = awaited
            .iter()
            .map(|of| &self.workers[of.worker].items[of.item]);
        let over = items.filter(|item| item.status.is_finished());
        over.filter_map(|item| item.work.as_deref()).collect()
    }

    /// Brings the manager up to date with what was seen; the work that is to be started now.
    /// Workers come one after the other, the items of one side by side.
    pub fn tick(&mut self, file: &str, seen: &BTreeMap<ItemRef, Seen>) -> Starts {
        let mut starts = Starts::default();
        if self.status != ManagerStatus::InProgress {
            return starts;
        }
        let mut bytes = 0;
        for worker in 0..self.workers.len() {
            let status = self.workers[worker].status;
            match status {
                WorkStatus::Success | WorkStatus::Skip | WorkStatus::Ignore => continue,
                WorkStatus::Error => break,
                WorkStatus::ToDo | WorkStatus::InProgress => {}
            }
            self.look_at(worker, seen);
            let to_do = self.workers[worker].items.iter().enumerate();
            let to_do = to_do.filter(|(_, item)| item.status == WorkStatus::ToDo);
            // Of a worker that begins, the first; the others follow at the next tick.
            let count = if status == WorkStatus::ToDo {
                1
            } else {
                usize::MAX
            };
            let to_do: Vec<_> = to_do.map(|(item, _)| item).take(count).collect();
            for item in to_do {
                let known = &self.workers[worker];
                let reads = self.start_bytes(known, &known.items[item]);
                let is_full = starts.now.len() >= STARTS_MAX || bytes + reads > START_BYTES_MAX;
                if bytes > 0 && is_full {
                    starts.are_more = true;
                    break;
                }
                // An item counts, whatever its payload is.
                bytes += reads.max(1);
                let of = ItemRef { worker, item };
                match self.start_of(file, of) {
                    Ok(start) => {
                        self.workers[worker].items[item].status = WorkStatus::InProgress;
                        starts.now.push(start);
                    }
                    Err(reason) => {
                        let max = self.reason_max;
                        self.workers[worker].items[item].fail(&reason, max);
                    }
                }
            }
            self.settle(worker);
            let status = self.workers[worker].status;
            if !status.is_finished() || status == WorkStatus::Error {
                break;
            }
        }
        self.sum_up();
        starts
    }

    /// Takes over how the work of items stands that are in progress.
    fn look_at(&mut self, worker: usize, seen: &BTreeMap<ItemRef, Seen>) {
        let max = self.reason_max;
        for (item, known) in self.workers[worker].items.iter_mut().enumerate() {
            if known.status != WorkStatus::InProgress {
                continue;
            }
            if let Err(reason) = known.state_path.clone() {
                known.fail(&reason, max);
                continue;
            }
            let Some(seen) = seen.get(&ItemRef { worker, item }) else {
                continue;
            };
            match (&seen.state, &seen.work) {
                (StateFile::Nonsense(why), _) => known.fail(why, max),
                (StateFile::Says(WorkStatus::Error, Some(error)), _) => {
                    known.fail_with(error, max);
                }
                (StateFile::Says(WorkStatus::Error, None), _) => {
                    known.fail("the state file says so, without a reason", max);
                }
                (StateFile::Says(status, _), _) if status.is_finished() => known.status = *status,
                // It has not said how it ended: the end of the work counts.
                (_, Work::Completed) => known.status = WorkStatus::Success,
                (_, Work::Failed(why)) => known.fail(why, max),
                (_, Work::Gone) => known.fail(
                    "the work that `workflow_id` names is not there; it may have been done and \
                     removed since. Set the item to to-do to start it again",
                    max,
                ),
                (_, Work::Running | Work::None) => {}
            }
        }
    }

    pub fn start_of(&self, file: &str, of: ItemRef) -> Result<Start, String> {
        let worker = &self.workers[of.worker];
        let target = worker.target.clone()?;
        if target == MANAGER {
            return Err(format!(
                "{MANAGER} is a manager; a manager cannot start managers"
            ));
        }
        if self.code().is_ok_and(|own| own == target) {
            return Err(format!(
                "{target} is this manager itself; a manager cannot start managers"
            ));
        }
        worker.items[of.item].state_path.clone()?;
        Ok(Start {
            payload: self.payload(file, worker, of.item)?,
            of,
            target,
        })
    }

    /// Has a manager that waits to begin begin.
    pub fn promote(&mut self) {
        if self.status == ManagerStatus::ToDo {
            self.status = ManagerStatus::InProgress;
        }
    }

    /// Notes that the work of an item was started.
    pub fn started(&mut self, of: ItemRef, work: &str) {
        self.workers[of.worker].items[of.item].begin(work);
    }

    /// Notes that the work of items could not be started, and why.
    pub fn not_started(&mut self, failed: &[(ItemRef, String)]) {
        for (of, reason) in failed {
            self.workers[of.worker].items[of.item].fail(reason, self.reason_max);
        }
        let workers: BTreeSet<usize> = failed.iter().map(|(of, _)| of.worker).collect();
        for worker in workers {
            self.settle(worker);
        }
        if !failed.is_empty() {
            self.sum_up();
        }
    }

    /// Gives a worker the status of its items.
    pub(super) fn settle(&mut self, worker: usize) {
        let worker = &mut self.workers[worker];
        worker.status = WorkStatus::of_parts(worker.items.iter().map(|item| item.status));
    }

    /// Gives the manager the status of its workers. One that waits for nobody is in progress.
    fn sum_up(&mut self) {
        let workers = self.workers.iter().map(|worker| worker.status);
        self.status = WorkStatus::of_parts(workers).into();
        self.promote();
    }
}
