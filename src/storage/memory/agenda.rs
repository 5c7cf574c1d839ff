//! What is due next: tasks by tenant, as far ahead as memory allows.
//!
//! Each tenant has a line of its own, and lines take turns: a tenant with a million tasks that are
//! due delays nobody else's. The table is the truth. Of each line a part is known, the rest is read
//! a page at a time when it is about to be due; the place where the unread part begins is a due
//! time *and a key*, because many tasks may be due at one instant. Nothing is lost on that border:
//!
//! - What is committed is noted if it belongs to the known part; otherwise its page brings it.
//! - What is committed while a page is read is kept until the page has come, and then noted if
//!   the page did not bring it; what a page brought before its commit was announced is not noted
//!   a second time.
//! - What is postponed is past the border and would never be read again, so it stays known.
//!
//! Continuations are not noted: those who wrote them work on them, and postpone them when they
//! give up. Pages bring only those that an earlier process wrote.
//!
//! Times in here are those of the wall clock, less the leads of tasks that were written before it
//! was set back (`steps`); the border is in the times of the table.

mod line;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tracing::warn;

use super::steps::Steps;
use crate::clock::{Reading, Timestamp};
use crate::storage::{
    port::{TaskKey, TaskLine, TaskPage, TaskRef, TenantRow},
    task::NewTask,
};

use line::Line;

/// How much is known and read.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// How many tasks are known in memory, of all tenants.
    known_max: usize,
    /// How many are read at a time.
    page: usize,
    /// A line of which fewer are known is read on.
    low: usize,
}

const SIZES: Sizes = Sizes {
    known_max: 1_000_000,
    page: 10_000,
    low: 2_500,
};

/// How many pages are read at once.
const READS_MAX: usize = 2;

/// How long before they are due tasks are read, in microseconds.
const AHEAD: i64 = 5_000_000;

/// How long is waited after a page could not be read, in microseconds.
const AFTER_TROUBLE: i64 = 1_000_000;

/// How long the clocks are not compared at most, while something waits (`steps`).
const LOOK: Duration = Duration::from_secs(1);

/// Before everything.
const START: (i64, i64) = (i64::MIN, i64::MIN);

/// When a new task is due.
#[derive(Debug, Clone, Copy)]
pub(in crate::storage) struct Noted {
    line: TaskLine,
    due: i64,
    key: i64,
}

/// What to do about tasks.
#[derive(Debug, PartialEq, Eq)]
pub enum NextTask {
    /// Some are due, or were when they were noted: they may have gone since.
    Due(Vec<TaskRef>),
    /// The table knows more.
    Read(TaskPage),
    /// Nothing for so long.
    Wait(Duration),
    Nothing,
}

/// What is due next.
///
/// A mutex, not a task: the committer adds on the path of every batch with timers, and it is held
/// for a push.
#[derive(Debug)]
pub(in crate::storage) struct Agenda {
    state: Mutex<Known>,
    changed: Notify,
}

#[derive(Debug)]
struct Known {
    sizes: Sizes,
    lines: HashMap<TaskLine, Line>,
    /// When the next task of a line is due that has none that is due.
    waiting: BTreeSet<(i64, TaskLine)>,
    /// When a line is to be read on.
    unread: BTreeSet<(i64, TaskLine)>,
    /// The lines of which something is due; they take turns.
    ring: VecDeque<TaskLine>,
    /// How many tasks are known that were not postponed.
    count: usize,
    /// How many pages are being read.
    reading: usize,
    /// The last place that was taken of any line, by due time in the table.
    reached: Option<(i64, i64)>,
    /// The newest task that was noted.
    newest: i64,
    /// The last task that an earlier process wrote.
    began_with: i64,
    steps: Steps,
}

impl Noted {
    /// None of a task that does not wait.
    pub(in crate::storage) fn of(tenant: TenantRow, task: &NewTask, key: i64) -> Option<Self> {
        task.kind.waits().then_some(Self {
            line: TaskLine(tenant.0),
            due: task.due.micros(),
            key,
        })
    }
}

impl Noted {
    /// A task that was found in the table.
    pub(in crate::storage) const fn found(line: TaskLine, due: i64, key: i64) -> Self {
        Self { line, due, key }
    }

    pub(in crate::storage) const fn due(&self) -> i64 {
        self.due
    }

    pub(in crate::storage) const fn key(&self) -> i64 {
        self.key
    }

    /// The timer of a run.
    pub(in crate::storage) const fn of_run(tenant: TenantRow, due: Timestamp, key: i64) -> Self {
        Self {
            line: TaskLine(tenant.0),
            due: due.micros(),
            key,
        }
    }
}

impl Agenda {
    /// An agenda of which nothing is known yet but the tenants that have tasks, and the last task.
    pub(in crate::storage) fn new(now: Reading, lines: Vec<TaskLine>, last: i64) -> Self {
        Self::of_sizes(SIZES, now, lines, last)
    }

    fn of_sizes(sizes: Sizes, now: Reading, lines: Vec<TaskLine>, last: i64) -> Self {
        let mut known = Known {
            sizes,
            lines: HashMap::new(),
            waiting: BTreeSet::new(),
            unread: BTreeSet::new(),
            ring: VecDeque::new(),
            count: 0,
            reading: 0,
            reached: None,
            newest: last,
            began_with: last,
            steps: Steps::new(now),
        };
        for line in lines {
            known.lines.entry(line).or_default().border = Some(START);
            known.list(line);
        }
        Self {
            state: Mutex::new(known),
            changed: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.state.lock()
    }

    /// Notes when tasks are due that were committed, except where their page will bring them.
    pub(in crate::storage) fn add(&self, tasks: &[Noted], now: Reading) {
        let mut known = self.lock();
        let mut is_sooner = known.look(now);
        for task in tasks {
            is_sooner |= known.add(task);
        }
        known.shed();
        drop(known);
        if is_sooner {
            self.changed.notify_one();
        }
    }

    /// Has a task looked at again after a pause.
    pub(in crate::storage) fn postpone(&self, task: TaskRef, now: Reading, pause: Duration) {
        let mut known = self.lock();
        known.look(now);
        let line = known.lines.entry(task.line).or_default();
        let until = now.wall.after(pause).micros();
        line.again.push(Reverse((until, task.key.0)));
        known.list(task.line);
        drop(known);
        self.changed.notify_one();
    }

    /// Takes what a page brought; a full one may not be the last.
    pub(in crate::storage) fn has_read(&self, line: TaskLine, tasks: Vec<(i64, i64)>, full: bool) {
        self.lock().has_read(line, tasks, full);
        self.changed.notify_one();
    }

    /// A page could not be read.
    pub(in crate::storage) fn not_read(&self, line: TaskLine, now: Reading) {
        let mut known = self.lock();
        known.reading = known.reading.saturating_sub(1);
        if let Some(unread) = known.lines.get_mut(&line) {
            // The pages to come bring it.
            unread.meanwhile = None;
            unread.not_before = now.wall.micros().saturating_add(AFTER_TROUBLE);
        }
        known.list(line);
        drop(known);
        self.changed.notify_one();
    }

    /// No task before that key is announced any more: its commit is one of another process, or was
    /// announced.
    pub(in crate::storage) fn settle(&self, before: TaskKey) {
        let mut known = self.lock();
        let has_early = |(_, line): &(_, &mut Line)| !line.early.is_empty();
        let lines = known.lines.iter_mut().filter(has_early);
        let settled = lines.map(|(name, line)| {
            line.early.retain(|key| *key >= before.0);
            *name
        });
        for name in settled.collect::<Vec<_>>() {
            known.list(name);
        }
    }

    /// Says what is to be done. Of what is due `limit` tasks are taken at most, one of each line
    /// at a time, and none of those that stand still.
    pub(in crate::storage) fn next(
        &self,
        now: Reading,
        limit: usize,
        paused: &HashSet<TaskLine>,
    ) -> NextTask {
        let mut known = self.lock();
        known.look(now);
        let wall = now.wall.micros();
        if let Some(page) = known.page(wall) {
            return NextTask::Read(page);
        }
        let taken = known.take(wall, limit, paused);
        if !taken.is_empty() {
            return NextTask::Due(taken);
        }
        let unread = known.unread.first().filter(|_| known.reading < READS_MAX);
        let next = known.waiting.first().into_iter().chain(unread);
        next.map(|(when, _)| *when)
            .min()
            .map_or(NextTask::Nothing, |when| {
                let micros = u64::try_from(when.saturating_sub(wall)).unwrap_or(0);
                NextTask::Wait(Duration::from_micros(micros).min(LOOK))
            })
    }

    /// Returns once something has changed that may be due sooner than what was known.
    pub(in crate::storage) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Known {
    /// Compares the clocks; whether one was set.
    fn look(&mut self, now: Reading) -> bool {
        let Some(step) = self.steps.look(now, self.newest) else {
            return false;
        };
        let by_ms = step.by / 1_000;
        warn!(
            by_ms,
            "the clock was set; timers that wait are looked at again"
        );
        let after = self.steps.leads().clone();
        let lines: Vec<TaskLine> = self.lines.keys().copied().collect();
        for name in lines {
            if let Some(line) = self.lines.get_mut(&name) {
                line.step(step.by, &step.before, &after);
            }
            self.list(name);
        }
        true
    }

    /// Whether it is due before what its line waited for.
    fn add(&mut self, task: &Noted) -> bool {
        self.newest = self.newest.max(task.key);
        let line = self.lines.entry(task.line).or_default();
        let place = (task.due, task.key);
        if line.early.remove(&task.key) {
            self.list(task.line);
            return false;
        }
        if line.border.is_some_and(|border| place > border) {
            if let Some(meanwhile) = &mut line.meanwhile {
                meanwhile.push(place);
            }
            return false;
        }
        line.known.push(Reverse(place));
        self.count += 1;
        if line.waits.is_none_or(|waits| task.due < waits) {
            self.list(task.line);
            return true;
        }
        false
    }

    fn has_read(&mut self, name: TaskLine, tasks: Vec<(i64, i64)>, full: bool) {
        self.reading = self.reading.saturating_sub(1);
        let leads = self.steps.leads().clone();
        let line = self.lines.entry(name).or_default();
        let meanwhile = line.meanwhile.take().unwrap_or_default();
        line.border = if full { tasks.last().copied() } else { None };
        let brought: HashSet<i64> = tasks.iter().map(|(_, key)| *key).collect();
        let border = line.border;
        let missed = meanwhile.into_iter().filter(|(due, key)| {
            !brought.contains(key) && border.is_none_or(|border| (*due, *key) <= border)
        });
        let missed: Vec<_> = missed.collect();
        for (due, key) in tasks.into_iter().chain(missed) {
            if key > self.newest {
                line.early.insert(key);
            }
            line.known
                .push(Reverse((due.saturating_sub(leads.of(key)), key)));
            self.count += 1;
        }
        self.list(name);
        self.shed();
    }

    /// The page that is to be read now.
    fn page(&mut self, wall: i64) -> Option<TaskPage> {
        if self.reading >= READS_MAX {
            return None;
        }
        let (_, name) = *self.unread.first().filter(|(when, _)| *when <= wall)?;
        let line = self.lines.get_mut(&name)?;
        let after = line.border?;
        line.meanwhile = Some(Vec::new());
        self.reading += 1;
        self.list(name);
        Some(TaskPage {
            line: name,
            after,
            began_with: self.began_with,
            limit: self.sizes.page,
        })
    }

    fn take(&mut self, wall: i64, limit: usize, paused: &HashSet<TaskLine>) -> Vec<TaskRef> {
        while let Some((_, name)) = self
            .waiting
            .first()
            .copied()
            .filter(|(due, _)| *due <= wall)
        {
            self.waiting.pop_first();
            if let Some(line) = self.lines.get_mut(&name) {
                line.waits = None;
                line.is_in_ring = true;
                self.ring.push_back(name);
            }
        }
        let mut taken = Vec::new();
        let mut passed_by = 0;
        while taken.len() < limit && passed_by < self.ring.len() {
            let Some(name) = self.ring.pop_front() else {
                break;
            };
            if paused.contains(&name) {
                self.ring.push_back(name);
                passed_by += 1;
                continue;
            }
            passed_by = 0;
            let Some(line) = self.lines.get_mut(&name) else {
                continue;
            };
            let before = line.known.len();
            let taking = line.take(wall, self.steps.leads());
            self.count -= before - line.known.len();
            line.is_in_ring = line.next().is_some_and(|due| due <= wall);
            if line.is_in_ring {
                self.ring.push_back(name);
            }
            if let Some((key, place)) = taking {
                self.reached = self.reached.max(place);
                let (line, key) = (name, TaskKey(key));
                taken.push(TaskRef { line, key });
            }
            self.list(name);
        }
        taken
    }

    /// Lists a line by what comes next in it, or forgets it if there is nothing.
    fn list(&mut self, name: TaskLine) {
        let has_leads = !self.steps.leads().is_empty();
        let most = self.steps.leads().most();
        let Some(line) = self.lines.get_mut(&name) else {
            return;
        };
        let due_at = line.next().filter(|_| !line.is_in_ring);
        if due_at != line.waits {
            if let Some(old) = line.waits {
                self.waiting.remove(&(old, name));
            }
            if let Some(new) = due_at {
                self.waiting.insert((new, name));
            }
            line.waits = due_at;
        }
        // Where leads differ, what is unread may be due before what is known. Without room only
        // lines are read of which nothing is known: what is read then is not shed at once.
        let has_room = self.count < self.sizes.known_max / 2;
        let is_low = has_leads || line.known.len() < self.sizes.low;
        let may_want = (line.known.is_empty() || (has_room && is_low)) && line.meanwhile.is_none();
        let read_at = line.border.filter(|_| may_want).map(|(due, _)| {
            let soon = due.saturating_sub(most).saturating_sub(AHEAD);
            soon.max(line.not_before)
        });
        if read_at != line.wants {
            if let Some(old) = line.wants {
                self.unread.remove(&(old, name));
            }
            if let Some(new) = read_at {
                self.unread.insert((new, name));
            }
            line.wants = read_at;
        }
        if line.is_over() {
            self.lines.remove(&name);
        }
    }

    /// Leaves to the table what there is no room for: the last ones of the longest line.
    fn shed(&mut self) {
        if self.count <= self.sizes.known_max {
            return;
        }
        let can_shed = |line: &&Line| line.meanwhile.is_none();
        let lines = self.lines.iter().filter(|(_, line)| can_shed(line));
        let Some(name) = lines
            .max_by_key(|(_, line)| line.known.len())
            .map(|(name, _)| *name)
        else {
            return;
        };
        if let Some(line) = self.lines.get_mut(&name) {
            self.count -= line.shed(self.steps.leads(), self.reached);
        }
        self.list(name);
    }
}

#[cfg(test)]
mod tests;
