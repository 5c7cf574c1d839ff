//! Fair scheduling of tasks: tenants take turns, and a slot is held while working, not while
//! waiting.
//!
//! As many tasks are executed at once as there are slots. A task that waits for a member releases
//! its slot and requests one again when the response has arrived; it is then first in its tenant's
//! line. Lines take turns, so the backlog of one tenant delays another's tasks by one task each. A
//! tenant may have a limited number of tasks in flight, including those that wait for members;
//! beyond, its line is paused and others continue.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};

use crate::storage::{Due, TaskLine};

/// The slots, and the lines of tasks that wait for one; cheap to clone.
///
/// A mutex, not a task: a firing timer takes and releases a slot for each call. It is held for a
/// look-up only.
#[derive(Debug, Clone)]
pub(super) struct Turns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// There may be a task to begin, or room to read more.
    changed: Notify,
    /// How many tasks of one tenant may be in flight.
    each_max: usize,
}

#[derive(Debug, Default)]
struct State {
    /// How many slots are free.
    free: usize,
    lines: HashMap<TaskLine, Line>,
    /// The lines that have a task waiting and are not paused.
    ring: VecDeque<TaskLine>,
    /// The paused lines: their tenant has reached its limit of tasks in flight.
    paused: HashSet<TaskLine>,
    /// How many tasks wait to begin in lines that are not paused.
    to_begin: usize,
    /// No more tasks begin.
    is_closed: bool,
}

/// The line of a tenant.
#[derive(Debug, Default)]
struct Line {
    /// Tasks whose response has arrived; they continue first.
    returning: VecDeque<oneshot::Sender<Slot>>,
    to_begin: VecDeque<Due>,
    /// How many are in flight.
    begun: usize,
    is_in_ring: bool,
}

/// What may be admitted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// How many slots are free.
    pub(super) free: usize,
    /// The paused lines, for which no more tasks may be read.
    pub(super) paused: HashSet<TaskLine>,
}

/// A slot; dropping it releases it.
#[derive(Debug)]
struct Slot(Option<Turns>);

/// A task in flight, with or without a slot. Dropping it ends the task.
#[derive(Debug)]
pub(super) struct TaskInFlight {
    turns: Turns,
    line: TaskLine,
    place: Option<Slot>,
}

impl Turns {
    pub(super) fn new(places: usize, each_max: usize) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                free: places,
                ..State::default()
            }),
            changed: Notify::new(),
            each_max: each_max.max(1),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// Returns once there may be a task to begin, or room for more.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// The room for more tasks, if all that may begin have begun.
    pub(super) fn room(&self) -> Option<Room> {
        let state = self.lock();
        (state.to_begin == 0).then(|| Room {
            free: state.free,
            paused: state.paused.clone(),
        })
    }

    /// Lets due tasks wait for their turns.
    pub(super) fn admit(&self, due: Vec<Due>) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        for due in due {
            let name = due.task.line;
            let is_paused = state.paused.contains(&name);
            state.line(name).to_begin.push_back(due);
            if !is_paused {
                state.to_begin += 1;
                state.enter(name);
            }
        }
    }

    /// The next task with its slot; none if there is no task or no slot.
    pub(super) fn begin(&self) -> Option<(Due, TaskInFlight)> {
        let mut state = self.lock();
        if !self.hand_out(&mut state) {
            return None;
        }
        let name = state.ring.pop_front()?;
        let line = state.line(name);
        line.is_in_ring = false;
        let due = line.to_begin.pop_front()?;
        line.begun += 1;
        let (is_full, left) = (line.begun >= self.0.each_max, line.to_begin.len());
        state.free -= 1;
        state.to_begin -= 1;
        if is_full {
            state.paused.insert(name);
            state.to_begin -= left;
        }
        state.enter(name);
        let slot = TaskInFlight {
            turns: self.clone(),
            line: name,
            place: Some(Slot(Some(self.clone()))),
        };
        Some((due, slot))
    }

    /// Begins no more tasks. Those in flight continue.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.to_begin = 0;
        let mut waiting = Vec::new();
        for line in state.lines.values_mut() {
            waiting.extend(line.to_begin.drain(..));
        }
        self.hand_out(&mut state);
        drop(state);
        // Large values are freed outside the lock.
        drop(waiting);
    }

    /// Hands free slots to tasks that continue, until it is the turn of a task that begins; returns
    /// whether it is.
    fn hand_out(&self, state: &mut State) -> bool {
        while state.free > 0 {
            let Some(name) = state.ring.front().copied() else {
                return false;
            };
            let may_begin = !state.paused.contains(&name);
            let line = state.line(name);
            let first = line.returning.pop_front();
            if first.is_none() && may_begin && !line.to_begin.is_empty() {
                return true;
            }
            line.is_in_ring = false;
            state.ring.pop_front();
            let Some(first) = first else {
                state.forget(name);
                continue;
            };
            state.enter(name);
            if let Err(mut place) = first.send(Slot(Some(self.clone()))) {
                // The waiter is gone; the slot stays free.
                place.0 = None;
            } else {
                state.free -= 1;
            }
        }
        false
    }

    /// Hands free slots to tasks that continue, and notifies if it is then the turn of a task that
    /// begins.
    fn move_on(&self, state: &mut State) {
        if self.hand_out(state) {
            self.0.changed.notify_one();
        }
    }

    /// Requests a slot for a task in flight.
    fn ask(&self, name: TaskLine) -> oneshot::Receiver<Slot> {
        let (hand_over, place) = oneshot::channel();
        let mut state = self.lock();
        state.line(name).returning.push_back(hand_over);
        state.enter(name);
        self.move_on(&mut state);
        place
    }

    fn give_back(&self) {
        let mut state = self.lock();
        state.free += 1;
        self.move_on(&mut state);
    }

    fn end(&self, name: TaskLine) {
        let mut state = self.lock();
        let each_max = self.0.each_max;
        let line = state.line(name);
        line.begun = line.begun.saturating_sub(1);
        let (moves, waiting) = (line.begun < each_max, line.to_begin.len());
        if moves && state.paused.remove(&name) {
            state.to_begin += waiting;
            state.enter(name);
            self.0.changed.notify_one();
        }
        state.forget(name);
    }
}

impl State {
    fn line(&mut self, name: TaskLine) -> &mut Line {
        self.lines.entry(name).or_default()
    }

    /// Removes an empty line.
    fn forget(&mut self, name: TaskLine) {
        let is_empty = |line: &Line| {
            line.begun == 0
                && line.to_begin.is_empty()
                && line.returning.is_empty()
                && !line.is_in_ring
        };
        if self.lines.get(&name).is_some_and(is_empty) {
            self.lines.remove(&name);
        }
    }

    /// Lets a line take turns if it has a waiting task and is not paused.
    fn enter(&mut self, name: TaskLine) {
        let may_begin = !self.paused.contains(&name);
        let line = self.lines.entry(name).or_default();
        let moves = !line.returning.is_empty() || (may_begin && !line.to_begin.is_empty());
        if moves && !line.is_in_ring {
            line.is_in_ring = true;
            self.ring.push_back(name);
        }
    }
}

impl TaskInFlight {
    /// Releases the slot.
    pub(super) fn leave(&mut self) {
        self.place = None;
    }

    /// Waits for a slot, if it has none.
    pub(super) async fn take(&mut self) {
        if self.place.is_none() {
            // Slots are handed out as long as requests remain.
            self.place = self.turns.ask(self.line).await.ok();
        }
    }
}

impl Drop for TaskInFlight {
    fn drop(&mut self) {
        self.turns.end(self.line);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const A: i64 = 1;
    const B: i64 = 2;

    fn due(line: i64, keys: std::ops::Range<i64>) -> Vec<Due> {
        keys.map(|key| Due::of(line, key)).collect()
    }

    /// All tasks that may begin.
    fn begun(turns: &Turns) -> Vec<((i64, i64), TaskInFlight)> {
        let next = || turns.begin().map(|(due, slot)| (due.name(), slot));
        std::iter::from_fn(next).collect()
    }

    fn names(begun: &[((i64, i64), TaskInFlight)]) -> Vec<(i64, i64)> {
        begun.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn lines_take_turns_at_places() {
        let turns = Turns::new(5, 10);
        turns.admit(due(A, 1..9));
        turns.admit(due(B, 1..3));
        let first = begun(&turns);
        assert_eq!(names(&first), [(A, 1), (B, 1), (A, 2), (B, 2), (A, 3)]);
        drop(first);
        assert_eq!(
            names(&begun(&turns)),
            [(A, 4), (A, 5), (A, 6), (A, 7), (A, 8)]
        );
        assert!(turns.lock().lines.is_empty() && turns.lock().free == 5);
    }

    #[tokio::test]
    async fn a_task_that_waits_has_no_place_and_returns_before_others_begin() {
        let turns = Turns::new(1, 10);
        turns.admit(due(A, 1..4));
        turns.admit(due(B, 1..2));
        let (_, mut one) = turns.begin().expect("a place");
        assert!(turns.begin().is_none(), "there is one place");
        one.leave();
        let (other_due, other) = turns.begin().expect("it was left");
        assert_eq!(other_due.name(), (B, 1), "it is their turn");
        let mut returning = Box::pin(one.take());
        assert!(futures_util::poll!(&mut returning).is_pending());
        drop(other);
        timeout(Duration::from_secs(5), returning)
            .await
            .expect("a place");
        assert!(turns.begin().is_none());
        drop(one);
        assert_eq!(turns.begin().expect("a place").0.name(), (A, 2));
    }

    #[tokio::test]
    async fn one_that_goes_while_it_waits_for_a_place_leaves_it_to_others() {
        let turns = Turns::new(1, 10);
        turns.admit(due(A, 1..3));
        for given in [false, true] {
            let (_, mut one) = turns.begin().expect("a place");
            one.leave();
            let place = turns.ask(TaskLine::of(A));
            if given {
                drop(one);
                drop(place);
            } else {
                drop(place);
                drop(one);
            }
            assert_eq!(turns.lock().free, 1, "{given}");
        }
    }

    #[test]
    fn a_line_with_as_many_in_flight_as_it_may_have_is_paused_and_others_continue() {
        let turns = Turns::new(100, 3);
        turns.admit(due(A, 1..9));
        let mut of_a = begun(&turns);
        assert_eq!(names(&of_a), [(A, 1), (A, 2), (A, 3)]);
        for (_, slot) in &mut of_a {
            slot.leave();
        }
        let paused = HashSet::from([TaskLine::of(A)]);
        assert_eq!(turns.room(), Some(Room { free: 100, paused }));
        turns.admit(due(B, 1..3));
        assert_eq!(turns.room(), None, "these come first");
        assert_eq!(names(&begun(&turns)), [(B, 1), (B, 2)]);
        drop(of_a.pop());
        assert_eq!(turns.room(), None, "it continues");
        assert_eq!(turns.begin().expect("a place").0.name(), (A, 4));
        turns.close();
        drop(of_a);
        assert!(turns.begin().is_none(), "nothing begins any more");
    }
}
