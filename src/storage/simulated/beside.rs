//! Tasks, messages, identities, and what is remembered or claimed.
#![cfg(test)]

use std::{collections::BTreeSet, sync::Arc};

use super::State;
use crate::clock::Timestamp;
use crate::entity::Json;
use crate::id::{EdgeMessageId, EntityId, RunId};
use crate::storage::port::{
    Claim, EntityRow, Identity, IdentityChange, Message, MessageRow, OutcomeRow, Remembered,
    RunTimer, Stored, Subject, Task, TaskKey, TaskKind, TaskLine, TaskPage, TaskRow, TenantRow,
    Upkeep,
};

impl State {
    pub(in crate::storage) fn identities(&self) -> Vec<Identity> {
        self.identities.values().cloned().collect()
    }

    pub(in crate::storage) fn newest_task(&self) -> i64 {
        let newest = |k: Option<&i64>| k.copied().unwrap_or(0);
        let tasks = newest(self.tasks.keys().next_back());
        tasks.max(newest(self.timers.keys().next_back()))
    }

    pub(in crate::storage) fn task_lines(&self) -> Vec<TaskLine> {
        let lines = self.tasks.values().map(|task| task.t);
        let lines = lines.chain(self.timers.values().map(|timer| timer.t));
        let lines: BTreeSet<i64> = lines.collect();
        lines.into_iter().map(TaskLine).collect()
    }

    pub(in crate::storage) fn tasks_due(&self, page: TaskPage) -> Vec<(i64, i64)> {
        let continuation = TaskKind::Continuation.code();
        let is_on_it = |task: &&TaskRow| {
            task.t == page.line.0
                && (task.due, task.k) > page.after
                && (task.kind != continuation || task.k <= page.began_with)
        };
        let all = self.tasks.values().filter(is_on_it);
        let timers = self
            .timers
            .values()
            .map(|timer| (timer.due, timer.k, timer.t));
        let timers = timers.filter(|(due, k, t)| *t == page.line.0 && (*due, *k) > page.after);
        let timers = timers.map(|(due, k, _)| (due, k));
        let mut due: Vec<_> = all.map(|task| (task.due, task.k)).chain(timers).collect();
        due.sort_unstable();
        due.truncate(page.limit);
        due
    }

    pub(in crate::storage) fn tasks(&self, keys: &[TaskKey]) -> Vec<Task> {
        let known = keys.iter().filter_map(|key| self.tasks.get(&key.0));
        let entities: BTreeSet<i64> = known.map(|task| task.e).collect();
        let of_them = self
            .tasks
            .values()
            .filter(|task| entities.contains(&task.e));
        let timers = keys.iter().filter_map(|key| self.timers.get(&key.0));
        let timers = timers.map(|timer| self.timer(timer));
        of_them.map(|row| self.task(row)).chain(timers).collect()
    }

    fn timer(&self, row: &RunTimer) -> Task {
        Task {
            key: TaskKey(row.k),
            line: TaskLine(row.t),
            tenant: self.tenants[usize::try_from(row.t - 1).expect("a row")].clone(),
            subject: Subject::Run(RunId::new(row.r)),
            kind: TaskKind::Run,
            name: "".into(),
            due: Timestamp::from_micros(row.due),
            body: "".into(),
        }
    }

    pub(in crate::storage) fn message(
        &self,
        tenant: TenantRow,
        id: EdgeMessageId,
    ) -> Option<Message> {
        let row = self.messages.get(&(id.uuid(), tenant.0))?;
        let part = |part: &Arc<str>| Json::trusted(Arc::clone(part));
        Some(Message {
            header: part(&row.header),
            metadata: part(&row.metadata),
            content: part(&row.content),
        })
    }

    pub(in crate::storage) fn message_sizes(
        &self,
        ids: &[EdgeMessageId],
    ) -> Vec<(EdgeMessageId, TenantRow, i64)> {
        let of_them = self.messages.iter();
        let of_them = of_them.map(|((id, t), row)| (EdgeMessageId::from_uuid(*id), *t, row));
        let of_them = of_them.filter(|(id, ..)| ids.contains(id));
        let bytes = |row: &MessageRow| {
            let parts = [&row.header, &row.metadata, &row.content];
            i64::try_from(parts.map(|part| part.len()).iter().sum::<usize>()).expect("few")
        };
        of_them
            .map(|(id, t, row)| (id, TenantRow(t), bytes(row)))
            .collect()
    }

    pub(in crate::storage) fn tasks_of(&self, entity: EntityRow) -> Vec<Task> {
        let of_it = self.tasks.values().filter(|task| task.e == entity.0);
        of_it.map(|row| self.task(row)).collect()
    }

    pub(super) fn task(&self, row: &TaskRow) -> Task {
        let kind = TaskKind::ALL
            .into_iter()
            .find(|kind| kind.code() == row.kind);
        Task {
            key: TaskKey(row.k),
            line: TaskLine(row.t),
            tenant: self.tenants[usize::try_from(row.t - 1).expect("a row")].clone(),
            subject: Subject::Entity(EntityId::from_uuid(self.entities[&row.e].made.id)),
            kind: kind.expect("a kind"),
            name: Arc::clone(&row.name),
            due: Timestamp::from_micros(row.due),
            body: Arc::clone(&row.body),
        }
    }

    pub(in crate::storage) fn outcomes(
        &self,
        tenant: TenantRow,
        key: &str,
        now: Timestamp,
    ) -> Vec<Remembered> {
        let of_key =
            |row: &&OutcomeRow| (row.t, &*row.key) == (tenant.0, key) && row.expires > now.micros();
        let stored = self.outcomes.values().filter(of_key);
        stored
            .map(|row| Remembered {
                part: u32::try_from(row.part).expect("a part"),
                print: row.hash.clone().try_into().expect("a print"),
                answer: Arc::clone(&row.answer),
            })
            .collect()
    }

    pub(in crate::storage) fn prints(
        &self,
        names: &[(TenantRow, Arc<str>)],
        now: Timestamp,
    ) -> Vec<Stored> {
        let stored = names.iter().flat_map(|(tenant, key)| {
            let stored = self.outcomes(*tenant, key, now).into_iter();
            stored.map(|stored| Stored {
                tenant: *tenant,
                key: key.to_string(),
                part: stored.part,
                print: stored.print,
            })
        });
        stored.collect()
    }

    pub(in crate::storage) fn next_expiry(&self) -> Option<i64> {
        self.outcomes.values().map(|row| row.expires).min()
    }

    pub(in crate::storage) fn holders(&self, claims: &[Claim]) -> Vec<(Claim, EntityId)> {
        let holder = |claim: &Claim| {
            let (m, u) = (claim.model.0, i64::from(claim.value.key));
            let e = self.claims.get(&(m, u, claim.value.bytes.to_vec()))?;
            let id = EntityId::from_uuid(self.entities[e].made.id);
            Some((claim.clone(), id))
        };
        claims.iter().filter_map(holder).collect()
    }

    pub(super) fn remember(&mut self, outcomes: &[OutcomeRow]) {
        for row in outcomes {
            let name = (row.t, Arc::clone(&row.key), row.part);
            self.outcomes.insert(name, row.clone());
        }
    }

    pub(in crate::storage) fn sweep(&mut self, now: Timestamp, limit: i64) -> u64 {
        let before = self.outcomes.len();
        let mut left = limit;
        self.outcomes.retain(|_, row| {
            let goes = left > 0 && row.expires <= now.micros();
            left -= i64::from(goes);
            !goes
        });
        (before - self.outcomes.len()) as u64
    }

    /// Upkeep, of which it knows only that of identities: it has neither indexes nor jobs.
    pub(in crate::storage) fn keep_up(&mut self, upkeep: &Upkeep) -> u64 {
        let Upkeep::Identities { changes, .. } = upkeep else {
            return 0;
        };
        for change in &**changes {
            let (kind, name, tenant) = match change {
                IdentityChange::Keep(identity) => (identity.kind, &identity.name, &identity.tenant),
                IdentityChange::Forget { kind, name, tenant } => (*kind, name, tenant),
            };
            let name = (kind, Arc::clone(name));
            let holder = self.identities.get(&name);
            if holder.is_some_and(|holder| holder.tenant != *tenant) {
                continue;
            }
            match change {
                IdentityChange::Keep(identity) => {
                    self.identities.insert(name, identity.clone());
                }
                IdentityChange::Forget { .. } => {
                    self.identities.remove(&name);
                }
            }
        }
        1
    }
}
