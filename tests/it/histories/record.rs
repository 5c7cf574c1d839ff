//! What happens is recorded as the checker wants it.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use super::{
    checker::history::{Op, Outcome, Transaction, Value},
    plan::Step,
};

/// Work of a member that a client has asked for.
#[derive(Debug)]
struct Asked {
    steps: Vec<Step>,
    /// What was done, each time that the member was called for it.
    attempts: Vec<Vec<Op>>,
}

/// Everything that was recorded and is not checked yet.
#[derive(Debug)]
pub(super) struct Record {
    clock: Instant,
    next: AtomicU64,
    done: Mutex<Vec<Transaction>>,
    /// By the number that the call contains.
    asked: Mutex<HashMap<Value, Asked>>,
    /// Failures that nothing explains.
    strange: Mutex<Vec<String>>,
}

impl Record {
    pub(super) fn new() -> Self {
        Self {
            clock: Instant::now(),
            next: AtomicU64::new(1),
            done: Mutex::default(),
            asked: Mutex::default(),
            strange: Mutex::default(),
        }
    }

    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).expect("not that long")
    }

    /// A value that was never written.
    pub(super) fn fresh(&self) -> Value {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A client is about to ask for this.
    pub(super) fn ask(&self, number: Value, steps: Vec<Step>) {
        let attempts = Vec::new();
        let asked = Asked { steps, attempts };
        lock(&self.asked).insert(number, asked);
    }

    /// A member was called; what it is to do. None, if nobody waits for it any more.
    pub(super) fn attempt(&self, number: Value) -> Option<Vec<Step>> {
        let mut asked = lock(&self.asked);
        let asked = asked.get_mut(&number)?;
        asked.attempts.push(Vec::new());
        Some(asked.steps.clone())
    }

    /// A member has done something in its last attempt.
    pub(super) fn add(&self, number: Value, op: Op) {
        let mut asked = lock(&self.asked);
        if let Some(attempt) = asked
            .get_mut(&number)
            .and_then(|asked| asked.attempts.last_mut())
        {
            attempt.push(op);
        }
    }

    /// The answer to what was asked for has come. All attempts but the last one have failed. What
    /// the client wrote itself follows the first read, which does not show it.
    pub(super) fn answered(&self, number: Value, begun: u64, outcome: Outcome, own: Option<Op>) {
        let asked = lock(&self.asked).remove(&number).expect("asked for");
        let mut attempts = asked.attempts;
        let mut last = attempts.pop().unwrap_or_default();
        for ops in attempts {
            self.end(begun, Outcome::Failed, ops);
        }
        let place = last.len().min(1);
        last.splice(place..place, own);
        self.end(begun, outcome, last);
    }

    pub(super) fn end(&self, begun: u64, outcome: Outcome, ops: Vec<Op>) {
        let ended = self.now();
        lock(&self.done).push(Transaction {
            begun,
            ended,
            outcome,
            ops,
        });
    }

    pub(super) fn complain(&self, text: String) {
        lock(&self.strange).push(text);
    }

    pub(super) fn complaints(&self) -> Vec<String> {
        lock(&self.strange).clone()
    }

    pub(super) fn take(&self) -> Vec<Transaction> {
        std::mem::take(&mut *lock(&self.done))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
