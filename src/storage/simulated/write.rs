//! Writing a batch, with the rules that a database has for its tables.
#![cfg(test)]

use std::sync::Arc;

use super::{State, StoredEntity};
use crate::clock::Timestamp;
use crate::entity::{ChangeKind, Sequence};
use crate::id::EntityId;
use crate::model::Schema;
use crate::storage::port::{Batch, NewVersion, Newest, Removals};

impl State {
    pub(in crate::storage) fn newest(&self) -> Newest {
        let newest = self.commits.last_key_value();
        Newest {
            sequence: Sequence(newest.map_or(0, |(seq, _)| *seq)),
            at: Timestamp::from_micros(newest.map_or(0, |(_, commit)| commit.at)),
            revision: 0,
        }
    }

    pub(super) fn insist(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(what());
        }
    }

    pub(super) fn write(&mut self, batch: &Batch) {
        for commit in &batch.commits {
            let newest = self.newest();
            let follows = commit.seq > newest.sequence.0 && commit.at > newest.at.micros();
            self.insist(follows, || format!("{commit:?} after {newest:?}"));
            let before = self.sequences.insert(commit.id, commit.seq);
            self.insist(before.is_none(), || format!("{commit:?} a second time"));
            self.commits.insert(commit.seq, commit.clone());
        }
        for made in &batch.created {
            let entity = StoredEntity {
                made: made.clone(),
                n: made.n,
                state: Arc::clone(&made.state),
                live: true,
                versions: Vec::new(),
                decisions: Vec::new(),
            };
            let id = EntityId::from_uuid(made.id);
            let before = self.rows.insert(id, made.e);
            let other = self.entities.insert(made.e, entity);
            self.insist(before.is_none() && other.is_none(), || {
                format!("{made:?} a second time")
            });
        }
        for moved in &batch.moved {
            if let Some(entity) = self.entities.get_mut(&moved.e) {
                entity.n = moved.n;
                entity.state = Arc::clone(&moved.state);
            }
        }
        for version in &batch.versions {
            self.add_version(version.clone());
        }
        for decision in &batch.decisions {
            if let Some(entity) = self.entities.get_mut(&decision.e) {
                entity.decisions.push(decision.n);
            }
            let before = self.decisions.insert(decision.n, decision.clone());
            self.insist(before.is_none(), || format!("{decision:?} a second time"));
        }
        self.claims
            .retain(|_, e| batch.freed.iter().all(|freed| freed.0 != *e));
        for claim in &batch.claims {
            let key = (claim.m, claim.u, claim.key.clone());
            let before = self.claims.insert(key, claim.e);
            self.insist(before.is_none(), || format!("{claim:?} a second time"));
        }
        self.remember(&batch.outcomes);
        for done in &batch.tasks_done {
            self.tasks.remove(&done.0);
        }
        for task in &batch.tasks {
            self.tasks.retain(|_, other| {
                (other.e, other.kind, &other.name) != (task.e, task.kind, &task.name)
            });
            let before = self.tasks.insert(task.k, task.clone());
            self.insist(before.is_none(), || format!("{task:?} a second time"));
        }
        self.write_runs(batch);
        for message in &batch.messages {
            let key = (message.id, message.t);
            let before = self.messages.insert(key, message.clone());
            self.insist(before.is_none(), || format!("{message:?} a second time"));
        }
        for gone in &batch.messages_gone {
            self.messages.remove(&(gone.id, gone.t));
        }
        self.write_records(batch);
        self.write_topics(batch);
        for delta in &batch.deltas {
            let model = &mut self.models[usize::try_from(delta.m - 1).expect("a row")];
            let added = Schema::decode(&delta.delta).expect("what was encoded");
            model.schema = std::mem::take(&mut model.schema).merge(added);
        }
        for group in &batch.removals {
            for (e, n) in group.entities.iter().zip(group.first..) {
                self.remove(*e, n, group);
            }
        }
    }

    pub(in crate::storage) fn knows(&self, sequences: &[i64]) -> bool {
        sequences.iter().any(|seq| self.commits.contains_key(seq))
    }

    fn add_version(&mut self, version: NewVersion) {
        let n = version.n;
        match self.entities.get_mut(&version.e) {
            Some(entity) => entity.versions.push(n),
            None => self
                .violations
                .push(format!("{version:?} of no entity that there is")),
        }
        let has_commit = self.commits.contains_key(&version.seq);
        let before = self.versions.insert(n, version);
        self.insist(has_commit && before.is_none(), || {
            format!("version {n} a second time, or without a commit")
        });
    }

    fn remove(&mut self, e: i64, n: i64, group: &Removals) {
        let Some(entity) = self.entities.get_mut(&e) else {
            self.violations
                .push(format!("{e} was removed, and never made"));
            return;
        };
        entity.live = false;
        entity.n = n;
        let version = NewVersion {
            n,
            e,
            m: entity.made.m,
            seq: group.seq,
            kind: ChangeKind::Delete,
            state: Arc::clone(&entity.state),
            transition: None,
            author: group.author,
            executor: group.executor,
            data: None,
            record: None,
        };
        self.add_version(version);
    }
}
