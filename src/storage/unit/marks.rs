//! Savepoints in a unit of work.

use super::{Changed, Undo, UnitOfWork};

/// A place in a unit's work to come back to.
#[derive(Debug)]
pub struct Mark {
    bytes: usize,
    undo: usize,
    decisions: usize,
    tasks: usize,
    runs: usize,
    messages: usize,
    growth: usize,
    outcomes: usize,
    records: usize,
    publications: usize,
    signals: usize,
    task_notes: usize,
}

impl UnitOfWork {
    /// A place to roll back to, until it is let go of.
    pub fn mark(&mut self) -> Mark {
        self.marks += 1;
        Mark {
            bytes: self.bytes,
            undo: self.undo.len(),
            decisions: self.decisions.len(),
            tasks: self.tasks.len(),
            runs: self.runs.mark(),
            messages: self.messages.len(),
            growth: self.growth.len(),
            outcomes: self.outcomes.len(),
            records: self.records.changes.len(),
            publications: self.publications.len(),
            signals: self.runs.signals_count(),
            task_notes: self.runs.notes_count(),
        }
    }

    /// Takes back what was changed since the mark. Reads stay: they decided something.
    pub fn roll_back_to(&mut self, mark: &Mark) {
        for Undo { id, before, .. } in self.undo.drain(mark.undo..).rev() {
            match before {
                Some(before) => self.changes.insert(id, before),
                None => self.changes.remove(&id),
            };
        }
        self.bytes = mark.bytes;
        self.decisions.truncate(mark.decisions);
        self.tasks.truncate(mark.tasks);
        self.runs.roll_back_to(mark.runs);
        self.messages.truncate(mark.messages);
        self.growth.truncate(mark.growth);
        self.outcomes.truncate(mark.outcomes);
        self.records.changes.truncate(mark.records);
        self.publications.truncate(mark.publications);
        self.runs.forget_signals(mark.signals);
        self.runs.forget_notes(mark.task_notes);
    }

    /// Keeps what was changed since the mark, which is no more.
    pub fn release(&mut self, _mark: Mark) {
        self.marks -= 1;
        if self.marks == 0 {
            // Images that later ones have replaced were kept, and counted, until now.
            for undo in self.undo.drain(..).filter(|undo| undo.is_counted) {
                if let Some(Changed::Saved(replaced)) = undo.before {
                    self.bytes = self.bytes.saturating_sub(replaced.bytes());
                }
            }
            self.runs.forget_marks();
        }
    }
}
