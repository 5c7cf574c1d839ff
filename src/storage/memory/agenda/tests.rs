use super::*;
use crate::clock::{Clock, ManualClock, Timestamp};

const A: TaskLine = TaskLine(1);
const B: TaskLine = TaskLine(2);
const SECOND: i64 = 1_000_000;
const HOUR_MS: i64 = 3_600_000;

/// An agenda, its clock, and the table behind it.
struct Desk {
    agenda: Agenda,
    clock: ManualClock,
    table: BTreeSet<(TaskLine, i64, i64)>,
}

impl Desk {
    /// At second 1,000, after a restart with these tasks in the table.
    fn with(tasks: impl IntoIterator<Item = (TaskLine, i64, i64)>) -> Self {
        let clock = ManualClock::default();
        clock.set(Timestamp::from_micros(1_000 * SECOND));
        let table: BTreeSet<_> = tasks.into_iter().collect();
        let lines: BTreeSet<_> = table.iter().map(|(line, ..)| *line).collect();
        let last = table.iter().map(|(.., key)| *key).max().unwrap_or(0);
        let now = Clock::Manual(clock.clone()).read();
        Self {
            agenda: Agenda::new(now, lines.into_iter().collect(), last),
            clock,
            table,
        }
    }

    fn read(&self) -> Reading {
        Clock::Manual(self.clock.clone()).read()
    }

    /// Commits a task.
    fn commit(&mut self, line: TaskLine, due: i64, key: i64) {
        self.table.insert((line, due, key));
        self.announce(line, due, key);
    }

    fn announce(&self, line: TaskLine, due: i64, key: i64) {
        self.agenda.add(&[Noted { line, due, key }], self.read());
    }

    /// What the table says to a page.
    fn page(&self, page: TaskPage) -> Vec<(i64, i64)> {
        let of_line = self.table.iter().filter(|(line, ..)| *line == page.line);
        let after = of_line
            .map(|(_, due, key)| (*due, *key))
            .filter(|place| *place > page.after);
        after.take(page.limit).collect()
    }

    fn next(&self, limit: usize) -> NextTask {
        self.agenda.next(self.read(), limit, &HashSet::new())
    }

    /// What is to be done, once all has been read that is to be.
    fn settled(&self, limit: usize) -> NextTask {
        loop {
            match self.next(limit) {
                NextTask::Read(page) => {
                    let tasks = self.page(page);
                    let full = tasks.len() == page.limit;
                    self.agenda.has_read(page.line, tasks, full);
                }
                next @ (NextTask::Due(_) | NextTask::Wait(_) | NextTask::Nothing) => return next,
            }
        }
    }

    /// All that is due, in turns.
    fn all_due(&self) -> Vec<(i64, i64)> {
        let mut all = Vec::new();
        while let NextTask::Due(due) = self.settled(100) {
            all.extend(due.iter().map(|task| (task.line.0, task.key.0)));
        }
        all
    }
}

#[test]
fn what_is_due_comes_in_order() {
    let mut desk = Desk::with([]);
    assert_eq!(desk.next(9), NextTask::Nothing);
    let at = |second: i64| (1_000 + second) * SECOND;
    for (second, key) in [(3, 1), (1, 2), (2, 3)] {
        desk.commit(A, at(second), key);
    }
    assert_eq!(desk.next(9), NextTask::Wait(LOOK));
    desk.clock.advance_ms(500);
    assert_eq!(desk.next(9), NextTask::Wait(Duration::from_millis(500)));
    desk.clock.advance_ms(1_500);
    assert_eq!(desk.all_due(), [(1, 2), (1, 3)]);
    desk.clock.advance_ms(1_000);
    assert_eq!(desk.all_due(), [(1, 1)]);
    assert_eq!(desk.next(9), NextTask::Nothing);
    assert!(desk.agenda.lock().lines.is_empty(), "nobody is remembered");
}

#[test]
fn tenants_take_turns_and_one_that_stands_stops_nobody() {
    let mut desk = Desk::with([]);
    for key in 1..=1_000 {
        desk.commit(A, 0, key);
    }
    for key in 1_001..=1_003 {
        desk.commit(B, 5, key);
    }
    let turns = [
        (1, 1),
        (2, 1_001),
        (1, 2),
        (2, 1_002),
        (1, 3),
        (2, 1_003),
        (1, 4),
    ];
    let NextTask::Due(due) = desk.next(turns.len()) else {
        panic!("they are due")
    };
    let due: Vec<_> = due.iter().map(|task| (task.line.0, task.key.0)).collect();
    assert_eq!(due, turns);
    desk.commit(B, 5, 1_004);
    let paused = HashSet::from([A]);
    let due = desk.agenda.next(desk.read(), 9, &paused);
    let (line, key) = (B, TaskKey(1_004));
    assert_eq!(due, NextTask::Due(vec![TaskRef { line, key }]));
    let due = desk.agenda.next(desk.read(), 9, &paused);
    assert_eq!(due, NextTask::Nothing, "until it moves again");
    assert_eq!(desk.all_due().len(), 996);
}

#[test]
fn a_page_that_ends_within_an_instant_loses_nothing_of_it() {
    let count = i64::try_from(SIZES.page).expect("small") * 2 + 10;
    let desk = Desk::with((1..=count).map(|key| (A, 7, key)));
    let due: BTreeSet<_> = desk.all_due().into_iter().collect();
    assert_eq!(due.len(), usize::try_from(count).expect("small"));
}

#[test]
fn a_page_is_read_before_it_is_due_and_not_long_before() {
    let page = i64::try_from(SIZES.page).expect("small");
    let second = |key: i64| if key <= page { 0 } else { 2_000 * SECOND };
    let desk = Desk::with((1..=page + 5).map(|key| (A, second(key), key)));
    assert_eq!(desk.all_due().len(), SIZES.page);
    // The next one begins where this one ended, and so it is read to see when that is.
    assert_eq!(desk.next(9), NextTask::Wait(LOOK));
    desk.clock.advance_ms(1_000_000);
    assert_eq!(desk.all_due().len(), 5);
}

#[test]
fn what_is_committed_while_a_page_is_read_comes_once() {
    let page = i64::try_from(SIZES.page).expect("small");
    for announced_late in [false, true] {
        for is_in_page in [false, true] {
            let mut desk = Desk::with((1..=page + 5).map(|key| (A, 7, key)));
            let NextTask::Read(asked) = desk.next(9) else {
                panic!("there is a page")
            };
            let before = desk.page(asked);
            let new = page + 6;
            desk.table.insert((A, 3, new));
            let read = if is_in_page { desk.page(asked) } else { before };
            if announced_late {
                desk.agenda.has_read(A, read, true);
                desk.announce(A, 3, new);
            } else {
                desk.announce(A, 3, new);
                desk.agenda.has_read(A, read, true);
            }
            let due = desk.all_due();
            assert_eq!(due[0], (1, new));
            let distinct: BTreeSet<_> = due.iter().collect();
            assert_eq!(
                (due.len(), distinct.len()),
                (SIZES.page + 6, SIZES.page + 6)
            );
        }
    }
}

#[test]
fn tasks_of_other_processes_are_forgotten_once_they_are_done() {
    let mut desk = Desk::with([]);
    // A page brings what others have committed, and what this process is about to announce.
    desk.agenda.has_read(A, vec![(7, 1), (7, 2), (7, 5)], false);
    desk.agenda.has_read(B, vec![(7, 3)], false);
    assert_eq!(desk.all_due(), [(1, 1), (2, 3), (1, 2), (1, 5)]);
    desk.agenda.settle(TaskKey(5));
    let lines: Vec<_> = desk.agenda.lock().lines.keys().copied().collect();
    assert_eq!(lines, [A], "one of it is not announced");
    desk.commit(A, 7, 5);
    assert_eq!(desk.all_due(), [], "it comes once");
    desk.agenda.settle(TaskKey(6));
    assert!(desk.agenda.lock().lines.is_empty());
}

#[test]
fn what_is_postponed_past_the_known_part_is_not_lost() {
    let page = i64::try_from(SIZES.page).expect("small");
    let desk = Desk::with((1..=page + 5).map(|key| (A, key, key)));
    let NextTask::Due(due) = desk.settled(1) else {
        panic!("they are due")
    };
    desk.agenda
        .postpone(due[0], desk.read(), Duration::from_secs(30));
    assert_eq!(desk.all_due().len(), SIZES.page + 4);
    desk.clock.advance_ms(30_000);
    assert_eq!(desk.all_due(), [(1, 1)]);
}

#[test]
fn what_is_postponed_takes_turns_with_what_is_not() {
    let mut desk = Desk::with([]);
    for key in 1..=4 {
        desk.commit(A, 0, key);
    }
    let (line, key) = (A, TaskKey(9));
    desk.agenda
        .postpone(TaskRef { line, key }, desk.read(), Duration::ZERO);
    assert_eq!(desk.all_due(), [(1, 1), (1, 9), (1, 2), (1, 3), (1, 4)]);
}

#[test]
fn a_page_that_could_not_be_read_is_read_again_after_a_pause() {
    let desk = Desk::with([(A, 7, 1)]);
    assert!(matches!(desk.next(9), NextTask::Read(_)));
    desk.agenda.not_read(A, desk.read());
    assert_eq!(desk.next(9), NextTask::Wait(Duration::from_secs(1)));
    desk.clock.advance_ms(1_000);
    assert_eq!(desk.all_due(), [(1, 1)]);
}

#[test]
fn what_there_is_no_room_for_is_left_to_the_table() {
    let all = i64::try_from(SIZES.known_max).expect("small") + 1;
    for back_ms in [0, HOUR_MS] {
        let mut desk = Desk::with([]);
        // Half of them are written before the clock is set back.
        let tasks: Vec<_> = (1..=all)
            .map(|key| Noted {
                line: A,
                due: 1_000 * SECOND + key,
                key,
            })
            .collect();
        desk.table = tasks.iter().map(|task| (A, task.due, task.key)).collect();
        let (before, after) = tasks.split_at(SIZES.known_max / 2);
        desk.agenda.add(before, desk.read());
        desk.clock.step_ms(-back_ms);
        desk.agenda.add(after, desk.read());
        assert!(desk.agenda.lock().count <= SIZES.known_max / 2 + 1);
        desk.clock.advance_ms(back_ms + all / 1_000 + 1);
        let due = desk.all_due();
        let distinct: HashSet<_> = due.iter().collect();
        assert_eq!(
            (due.len(), distinct.len()),
            (SIZES.known_max + 1, SIZES.known_max + 1)
        );
        assert_eq!(desk.agenda.lock().count, 0);
    }
}

#[test]
fn a_clock_that_is_set_back_delays_nothing_that_was_written_before() {
    let in_ten = 1_010 * SECOND;
    let page = i64::try_from(SIZES.page).expect("small");
    // One that is known, and one that is not read yet.
    let past = (1..=page).map(|key| (B, 0, key));
    let mut desk = Desk::with(past.chain([(B, 1_020 * SECOND, page + 1)]));
    assert_eq!(desk.all_due().len(), SIZES.page);
    desk.commit(A, in_ten, page + 2);
    desk.clock.advance_ms(4_000);
    desk.clock.step_ms(-HOUR_MS);
    // What is written from now on goes by the clock as it is.
    let after = desk.read().wall.micros() + 3 * SECOND;
    desk.commit(A, after, page + 3);
    assert_eq!(desk.all_due(), []);
    desk.clock.advance_ms(2_999);
    assert_eq!(desk.all_due(), []);
    desk.clock.advance_ms(1);
    assert_eq!(desk.all_due(), [(1, page + 3)]);
    desk.clock.advance_ms(2_999);
    assert_eq!(desk.all_due(), [], "never early");
    desk.clock.advance_ms(1);
    assert_eq!(desk.all_due(), [(1, page + 2)]);
    desk.clock.advance_ms(9_999);
    assert_eq!(desk.all_due(), [], "never early");
    desk.clock.advance_ms(1);
    assert_eq!(desk.all_due(), [(2, page + 1)]);
}

#[test]
fn a_clock_that_is_set_forward_makes_overdue_what_it_passes_and_keeps_pauses() {
    let mut desk = Desk::with([]);
    desk.commit(A, 1_010 * SECOND, 1);
    desk.commit(A, 9_000 * SECOND, 2);
    let (line, key) = (B, TaskKey(3));
    let pause = Duration::from_secs(30);
    desk.agenda
        .postpone(TaskRef { line, key }, desk.read(), pause);
    assert!(matches!(desk.next(9), NextTask::Wait(_)));
    desk.clock.step_ms(HOUR_MS);
    assert_eq!(desk.all_due(), [(1, 1)]);
    desk.clock.advance_ms(29_999);
    assert_eq!(desk.all_due(), []);
    desk.clock.advance_ms(1);
    assert_eq!(desk.all_due(), [(2, 3)]);
}

#[test]
fn a_clock_that_is_set_back_and_forth_changes_nothing() {
    let mut desk = Desk::with([]);
    desk.commit(A, 1_010 * SECOND, 1);
    for by in [-HOUR_MS, HOUR_MS, -1_000, 1_000] {
        desk.clock.step_ms(by);
        assert_eq!(desk.all_due(), []);
    }
    desk.clock.advance_ms(9_999);
    assert_eq!(desk.all_due(), []);
    desk.clock.advance_ms(1);
    assert_eq!(desk.all_due(), [(1, 1)]);
}

/// Chance, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn from(&mut self, least: i64, most: i64) -> i64 {
        let span = u64::try_from(most - least + 1).expect("a range");
        least + i64::try_from(self.below(span)).expect("small")
    }
}

/// A desk on which everything happens at any time.
struct Fuzzed {
    desk: Desk,
    chance: Chance,
    newest: i64,
    /// Committed, but not announced yet.
    unannounced: VecDeque<(TaskLine, i64, i64)>,
    /// Pages that are on their way.
    read: Vec<(TaskPage, Vec<(i64, i64)>)>,
    /// What is in flight, by key.
    at_work: Vec<TaskRef>,
    /// By task: the most that the wall clock was ahead of the steady one since it was announced.
    ahead: HashMap<i64, i64>,
}

impl Fuzzed {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let count = chance.from(0, 30);
        let mut desk = Desk::with((1..=count).map(|key| (A, 990 * SECOND, key)));
        let sizes = Sizes {
            known_max: 12,
            page: 3,
            low: 2,
        };
        let lines = if count > 0 { vec![A] } else { vec![] };
        desk.agenda = Agenda::of_sizes(sizes, desk.read(), lines, count);
        Self {
            desk,
            chance,
            newest: count,
            unannounced: VecDeque::new(),
            read: Vec::new(),
            at_work: Vec::new(),
            ahead: (1..=count).map(|key| (key, 0)).collect(),
        }
    }

    fn offset(&self) -> i64 {
        let now = self.desk.read();
        now.wall.micros() - i64::try_from(now.steady.as_micros()).expect("small")
    }

    /// The clocks are compared, and tasks remember how far ahead the wall clock was.
    fn note_offset(&mut self) {
        let offset = self.offset();
        for ahead in self.ahead.values_mut() {
            *ahead = offset.max(*ahead);
        }
    }

    fn commit(&mut self) {
        let line = if self.chance.below(3) == 0 { B } else { A };
        self.newest += 1;
        let spread = self.chance.from(-20, 20) * SECOND / 2;
        let due = self.desk.read().wall.micros() + spread;
        self.desk.table.insert((line, due, self.newest));
        self.unannounced.push_back((line, due, self.newest));
    }

    fn announce(&mut self) {
        if let Some((line, due, key)) = self.unannounced.pop_front() {
            self.note_offset();
            self.desk.announce(line, due, key);
            self.ahead.insert(key, self.offset());
        }
    }

    fn take(&mut self, limit: usize) -> bool {
        self.note_offset();
        match self.desk.next(limit) {
            NextTask::Read(page) => self.read.push((page, self.desk.page(page))),
            NextTask::Due(due) => {
                for task in due {
                    assert!(!self.at_work.contains(&task), "{task:?} is taken twice");
                    self.is_due(task);
                    self.at_work.push(task);
                }
            }
            NextTask::Wait(_) | NextTask::Nothing => return false,
        }
        true
    }

    fn is_due(&self, task: TaskRef) {
        let row = self.desk.table.iter();
        let row = row.copied().find(|(.., key)| *key == task.key.0);
        let (line, due, key) = row.unwrap_or_else(|| panic!("{task:?} is done"));
        assert_eq!(line, task.line);
        let now = self.desk.read();
        let steady = i64::try_from(now.steady.as_micros()).expect("small");
        let ahead = self.ahead.get(&key).copied().unwrap_or(i64::MIN);
        let at = steady + ahead.max(self.offset());
        assert!(due <= at, "{task:?} is early");
    }

    /// A page is read at some moment, and comes at another.
    fn page(&mut self) {
        if let Some(at) = self
            .chance
            .below(4)
            .try_into()
            .ok()
            .filter(|at| *at < self.read.len())
        {
            let (page, mut tasks) = self.read.remove(at);
            if self.chance.below(2) == 0 {
                tasks = self.desk.page(page);
            }
            let full = tasks.len() == page.limit;
            if self.chance.below(8) == 0 {
                self.desk.agenda.not_read(page.line, self.desk.read());
            } else {
                self.desk.agenda.has_read(page.line, tasks, full);
            }
        }
    }

    fn end_one(&mut self) {
        if self.at_work.is_empty() {
            return;
        }
        let count = u64::try_from(self.at_work.len()).expect("small");
        let at = usize::try_from(self.chance.below(count)).expect("small");
        let task = self.at_work.swap_remove(at);
        if self.chance.below(3) == 0 {
            let pause = Duration::from_secs(self.chance.below(20));
            self.note_offset();
            self.desk.agenda.postpone(task, self.desk.read(), pause);
            // It has been due.
            self.ahead.insert(task.key.0, i64::MAX / 2);
        } else {
            self.desk.table.retain(|(.., key)| *key != task.key.0);
        }
    }

    fn step(&mut self) {
        match self.chance.below(20) {
            0..4 => self.commit(),
            4..8 => self.announce(),
            8..11 => {
                let limit = usize::try_from(1 + self.chance.below(4)).expect("small");
                self.take(limit);
            }
            11..14 => self.page(),
            14..17 => self.end_one(),
            17..19 => self.desk.clock.advance_ms(self.chance.from(0, 4_000)),
            _ => {
                let by = self.chance.from(-30, 30) * 1_000;
                self.desk.clock.step_ms(by);
                self.take(1);
            }
        }
    }

    /// Everything comes to its end.
    fn settle(&mut self) {
        while !self.unannounced.is_empty() {
            self.announce();
        }
        for _ in 0..1_000 {
            self.desk.clock.advance_ms(1_000);
            let mut rounds = 0;
            while self.take(5) {
                rounds += 1;
                assert!(rounds < 10_000, "it does not come to an end");
                for (page, _) in std::mem::take(&mut self.read) {
                    let tasks = self.desk.page(page);
                    let full = tasks.len() == page.limit;
                    self.desk.agenda.has_read(page.line, tasks, full);
                }
                for task in std::mem::take(&mut self.at_work) {
                    self.desk.table.retain(|(.., key)| *key != task.key.0);
                }
            }
            if self.desk.table.is_empty() {
                return;
            }
        }
        panic!("lost: {:?}", self.desk.table);
    }
}

#[test]
fn nothing_is_lost_early_or_taken_twice_whatever_happens() {
    for seed in 1..=300 {
        let mut fuzzed = Fuzzed::new(seed);
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..300 {
                fuzzed.step();
            }
            // Pages that were on their way come, too.
            for (page, tasks) in std::mem::take(&mut fuzzed.read) {
                let full = tasks.len() == page.limit;
                fuzzed.desk.agenda.has_read(page.line, tasks, full);
            }
            fuzzed.settle();
        }));
        assert!(checked.is_ok(), "seed {seed}");
    }
}
