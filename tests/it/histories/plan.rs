//! What clients do, by chance.

use super::checker::history::Key;
use crate::support::Random;

/// How many lists there are, and how many registers behind them.
pub(super) const LISTS: Key = 10;
pub(super) const REGISTERS: Key = 10;

pub(super) const fn is_list(key: Key) -> bool {
    key < LISTS
}

/// A part of a transaction of a member.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Read(Key),
    /// Reads and replaces the whole.
    Replace(Key),
    /// Changes it without having read it.
    Blind(Key),
    /// Reads all lists by a search.
    Search,
    /// Reads all registers by listing them.
    List,
    /// Gives up: the transaction fails.
    Fail,
}

/// A transaction.
#[derive(Debug, Clone)]
pub(super) enum Plan {
    /// An entity is created; its processor does the rest.
    Created(Vec<Step>),
    /// A list is appended to and takes a transition; its processor does the rest, and appends to
    /// it, too.
    Moved(Key, Vec<Step>),
    /// A key is read, and changed if it is the same still.
    Compared(Key),
    /// The same without saying so, which is what nobody should do.
    Careless(Key),
    /// A list is appended to.
    Appended(Key),
    /// Registers are replaced together.
    Replaced(Vec<Key>),
    Read(Key),
    Search,
    List,
}

/// A few keys are used more than others.
fn key(random: &mut Random, first: Key, count: Key) -> Key {
    let count = if random.chance(50) { 3 } else { count };
    let below = random.below(usize::try_from(count).expect("small"));
    first + Key::try_from(below).expect("small")
}

fn any(random: &mut Random) -> Key {
    if random.chance(60) {
        key(random, 0, LISTS)
    } else {
        key(random, LISTS, REGISTERS)
    }
}

fn steps(random: &mut Random, most: usize) -> Vec<Step> {
    let count = 1 + random.below(most);
    (0..count).map(|_| step(random)).collect()
}

fn step(random: &mut Random) -> Step {
    match random.below(100) {
        0..40 => Step::Read(any(random)),
        40..60 => Step::Replace(any(random)),
        60..82 => Step::Blind(any(random)),
        82..90 => Step::Search,
        90..97 => Step::List,
        _ => Step::Fail,
    }
}

impl Plan {
    pub(super) fn draw(random: &mut Random) -> Self {
        match random.below(100) {
            0..30 => Self::Created(steps(random, 5)),
            30..42 => Self::Moved(key(random, 0, LISTS), steps(random, 3)),
            42..54 => Self::Compared(any(random)),
            54..66 => Self::Appended(key(random, 0, LISTS)),
            66..76 => {
                let count = 2 + random.below(3);
                let mut keys: Vec<_> = (0..count).map(|_| key(random, LISTS, REGISTERS)).collect();
                keys.sort_unstable();
                keys.dedup();
                Self::Replaced(keys)
            }
            76..88 => Self::Read(any(random)),
            88..94 => Self::Search,
            _ => Self::List,
        }
    }

    /// One of those that lose updates.
    pub(super) fn careless(random: &mut Random) -> Self {
        Self::Careless(key(random, LISTS, REGISTERS))
    }
}
