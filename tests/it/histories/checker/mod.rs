//! Whether a history is snapshot isolated, where the first committer wins. It knows nothing of the
//! service.
//!
//! The versions of each key have one order, that of the elements of a list or that of the values
//! of a register. It gives the edges between transactions: a write follows a write, a read sees
//! a write, a write follows what was read. Of the first two, as of two transactions of which one
//! had been answered before the other was sent, the earlier is in the snapshot of the later. So a
//! cycle is allowed only where two edges of the third kind meet, which is write skew (Cerone and
//! Gotsman, *Analysing Snapshot Isolation*).

mod cycles;
mod graph;
pub(crate) mod history;
mod planted;
mod versions;

use std::fmt;

use graph::{Graph, Kind};
use history::{History, Op, Outcome};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Anomaly {
    /// A transaction does not see its own writes, or two versions of one key.
    Internal,
    /// G1a: what a failed transaction wrote was read.
    Aborted,
    /// G1b: what a transaction wrote and replaced was read by another.
    Intermediate,
    /// A value was read that nobody wrote.
    Unwritten,
    /// A value was written once and is there twice.
    Doubled,
    /// What was acknowledged is not there.
    Lost,
    /// Two reads of one list disagree about its order.
    Diverged,
    /// G0: a cycle of writes.
    WriteCycle,
    /// G1c: a cycle of writes, and of reads of them.
    CircularReads,
    /// Two transactions changed a key on the same version of it.
    LostUpdate,
    /// G-single: a cycle in which one read missed a write.
    MissedWrite,
    /// A cycle in which reads missed writes, no two in a row.
    MissedWrites,
    /// What was acknowledged before a transaction began is not in its snapshot.
    Stale,
    /// What was written after a transaction had ended is before it.
    AgainstTime,
}

/// An anomaly, and where it is.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) anomaly: Anomaly,
    pub(crate) text: String,
}

/// What was checked, and what was found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) committed: usize,
    pub(crate) failed: usize,
    pub(crate) unknown: usize,
    reads: usize,
    writes: usize,
    edges: [usize; 4],
    /// Sets of transactions with cycles that snapshot isolation allows.
    pub(crate) skews: usize,
    pub(crate) findings: Vec<Finding>,
}

/// Checks a history.
pub(crate) fn check(history: &History) -> Report {
    let (versions, mut findings) = versions::analyse(history);
    let graph = Graph::new(history, &versions);
    findings.extend(cycles::find(&graph, history));
    let of = |outcome| {
        let all = history.transactions.iter();
        all.filter(|transaction| transaction.outcome == outcome)
            .count()
    };
    let ops = || history.transactions.iter().flat_map(|one| &one.ops);
    let writes = ops().filter(|op| matches!(op, Op::Write(..))).count();
    Report {
        committed: of(Outcome::Committed),
        failed: of(Outcome::Failed),
        unknown: of(Outcome::Unknown),
        reads: ops().count() - writes,
        writes,
        edges: Kind::ALL.map(|kind| graph.count(kind)),
        skews: cycles::skews(&graph),
        findings,
    }
}

impl Report {
    pub(crate) fn transactions(&self) -> usize {
        self.committed + self.failed + self.unknown
    }

    /// Adds that of another part.
    pub(crate) fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.failed += other.failed;
        self.unknown += other.unknown;
        self.reads += other.reads;
        self.writes += other.writes;
        for (sum, more) in self.edges.iter_mut().zip(other.edges) {
            *sum += more;
        }
        self.skews += other.skews;
        self.findings.extend(other.findings);
    }

    /// The kinds of anomalies, each once.
    pub(crate) fn anomalies(&self) -> Vec<Anomaly> {
        let mut all: Vec<_> = self.findings.iter().map(|found| found.anomaly).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} transactions ({} committed, {} failed, {} unknown), {} reads, {} writes; edges:",
            self.transactions(),
            self.committed,
            self.failed,
            self.unknown,
            self.reads,
            self.writes,
        )?;
        for (kind, count) in Kind::ALL.iter().zip(self.edges) {
            write!(out, " {count} {kind},")?;
        }
        write!(out, " {} cycles of write skew (allowed); ", self.skews)?;
        if self.findings.is_empty() {
            return write!(out, "anomalies: none");
        }
        write!(out, "{} anomalies:", self.findings.len())?;
        for found in self.findings.iter().take(10) {
            write!(out, "\n{:?}: {}", found.anomaly, found.text)?;
        }
        Ok(())
    }
}
