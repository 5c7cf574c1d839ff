//! Transactions, and what has to be before what.

use std::fmt;

use super::{
    history::{History, Key},
    versions::{Number, Versions},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Wrote the version before.
    Write,
    /// Wrote the version that was read.
    Read,
    /// Read the version before: it missed the write.
    Missed,
    /// Had been answered before the other was sent.
    Time,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Write, Self::Read, Self::Missed, Self::Time];
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Write => "write-write",
            Self::Read => "write-read",
            Self::Missed => "read-write",
            Self::Time => "real-time",
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) to: Number,
    pub(super) kind: Kind,
    pub(super) key: Option<Key>,
}

/// The nodes are the transactions, and behind them as many instants: the end of each. An edge of
/// time leads from a transaction to its end, from each end to the next, and from the last end
/// before it to a transaction.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) transactions: usize,
    pub(super) edges: Vec<Vec<Edge>>,
}

impl Graph {
    pub(super) fn new(history: &History, versions: &Versions) -> Self {
        let transactions = history.transactions.len();
        let mut graph = Self {
            transactions,
            edges: vec![Vec::new(); 2 * transactions],
        };
        graph.follow_versions(versions);
        graph.follow_time(history);
        graph
    }

    pub(super) fn count(&self, kind: Kind) -> usize {
        let all = self.edges.iter().flatten();
        all.filter(|edge| edge.kind == kind && edge.to < self.transactions)
            .count()
    }

    fn add(&mut self, from: Number, to: Number, kind: Kind, key: Option<Key>) {
        if from != to {
            self.edges[from].push(Edge { to, kind, key });
        }
    }

    fn follow_versions(&mut self, versions: &Versions) {
        for (key, writers) in &versions.writers {
            for pair in writers.windows(2) {
                self.add(pair[0], pair[1], Kind::Write, Some(*key));
            }
        }
        for read in &versions.reads {
            let writers = versions.writers.get(&read.key);
            let writers = writers.map_or(&[][..], Vec::as_slice);
            let seen = read.version.checked_sub(1).and_then(|at| writers.get(at));
            if let Some(seen) = seen {
                self.add(*seen, read.reader, Kind::Read, Some(read.key));
            }
            if let Some(missed) = writers.get(read.version) {
                self.add(read.reader, *missed, Kind::Missed, Some(read.key));
            }
        }
    }

    fn follow_time(&mut self, history: &History) {
        let all = || history.transactions.iter().enumerate();
        let ends = all().map(|(number, one)| (one.ended, true, number));
        // Of a beginning and an end at one time, the beginning is first: nothing is said of them.
        let begins = all().map(|(number, one)| (one.begun, false, number));
        let mut times: Vec<_> = ends.chain(begins).collect();
        times.sort_unstable();
        let mut last = None;
        for (_, is_end, number) in times {
            if is_end {
                let end = self.transactions + number;
                self.add(number, end, Kind::Time, None);
                if let Some(last) = last.replace(end) {
                    self.add(last, end, Kind::Time, None);
                }
            } else if let Some(last) = last {
                self.add(last, number, Kind::Time, None);
            }
        }
    }
}
