//! What is recorded of an entity.
#![cfg(test)]

use super::State;
use crate::clock::Timestamp;
use crate::engine::Record;
use crate::entity::{Change, Position, Sequence};
use crate::id::{EntityId, TransactionId};
use crate::storage::port::{NewVersion, Recorded, TenantRow};

impl State {
    pub(super) fn change(&self, version: &NewVersion) -> Change {
        let commit = &self.commits[&version.seq];
        let (author, executor) = match version.author {
            Some(author) => (author, version.executor),
            None => (commit.author, commit.executor),
        };
        let actor = |a: i64| {
            self.actors[usize::try_from(a - 1).expect("a row")]
                .1
                .clone()
        };
        Change {
            position: Position(version.n),
            kind: version.kind,
            at: Timestamp::from_micros(commit.at),
            transaction: TransactionId::from_uuid(commit.id),
            author: actor(author),
            executor: executor.map(actor),
        }
    }

    pub(in crate::storage) fn history(
        &self,
        tenant: TenantRow,
        id: EntityId,
        at: Sequence,
        limit: i64,
    ) -> Vec<Change> {
        let Some(entity) = self.entity(tenant, id) else {
            return Vec::new();
        };
        let seen = entity.versions.iter().rev().filter(|n| **n <= at.0);
        seen.take(usize::try_from(limit).expect("a number of rows"))
            .map(|n| self.change(&self.versions[n]))
            .collect()
    }

    pub(in crate::storage) fn trail(
        &self,
        tenant: TenantRow,
        id: EntityId,
        until: Position,
        limit: i64,
    ) -> Vec<Recorded> {
        let Some(entity) = self.entity(tenant, id) else {
            return Vec::new();
        };
        let mut all: Vec<_> = entity.versions.iter().chain(&entity.decisions).collect();
        all.retain(|n| **n <= until.0);
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.truncate(usize::try_from(limit).expect("a number of rows"));
        all.into_iter().map(|n| self.recorded(*n)).collect()
    }

    pub(super) fn recorded(&self, n: i64) -> Recorded {
        let version = self.versions.get(&n);
        let (seq, record) = match version {
            Some(version) => (version.seq, version.record.as_deref()),
            // A decision belongs to the first commit after it.
            None => (
                self.commits.range(n..).next().map_or(0, |(seq, _)| *seq),
                Some(&*self.decisions[&n].record),
            ),
        };
        let commit = &self.commits[&seq];
        Recorded {
            position: Position(n),
            at: Timestamp::from_micros(commit.at),
            transaction: TransactionId::from_uuid(commit.id),
            entry: TransactionId::from_uuid(commit.entry.unwrap_or(commit.id)),
            change: version.map(|version| self.change(version)),
            record: record.map_or_else(Record::default, |text| {
                Record::decode(text).expect("what was encoded")
            }),
        }
    }
}
