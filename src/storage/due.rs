//! Tasks that are due, read many at a time: each trip to the database costs more than what it
//! brings (`help/design/limits.md` (c)).

use std::collections::HashMap;

#[cfg(test)]
use super::port::TaskLine;
use super::{
    Error, Storage, UnitOfWork, WokenRun,
    port::{Subject, Task, TaskKey, TaskKind, TaskRef, Version},
};
use crate::clock::Timestamp;
use crate::entity::{Position, Sequence};
use crate::id::{EntityId, Tenant};

/// A task that is due.
#[derive(Debug)]
pub struct Due {
    pub task: Task,
    /// None of a run's, and if the entity is moving, is not there, or comes after much else that
    /// is large.
    pub seen: Option<Seen>,
}

impl Due {
    /// That a run is to be looked at.
    pub fn of_run(woken: WokenRun) -> Self {
        let task = Task {
            key: TaskKey(0),
            line: woken.line,
            tenant: woken.tenant,
            subject: Subject::Run(woken.run),
            kind: TaskKind::Run,
            name: "".into(),
            due: Timestamp::from_micros(0),
            body: "".into(),
        };
        Self { task, seen: None }
    }
}

#[cfg(test)]
impl Due {
    /// A task of a tenant.
    pub(crate) fn of(line: i64, key: i64) -> Self {
        let task = Task {
            key: TaskKey(key),
            line: TaskLine(line),
            tenant: "t".into(),
            subject: Subject::Entity(EntityId::NIL),
            kind: TaskKind::Timer,
            name: "later".into(),
            due: Timestamp::from_micros(0),
            body: "{}".into(),
        };
        Self { task, seen: None }
    }

    pub(crate) const fn name(&self) -> (i64, i64) {
        (self.task.line.0, self.task.key.0)
    }
}

/// An entity and its tasks, as they were at a sequence.
#[derive(Debug)]
pub struct Seen {
    /// When it was read.
    pub at: Timestamp,
    as_of: Sequence,
    base: Version,
    tasks: Vec<Task>,
}

impl Storage {
    /// Those of the tasks that are still to be done, each with its entity.
    pub async fn due(&self, refs: &[TaskRef]) -> Result<Vec<Due>, Error> {
        let keys: Vec<TaskKey> = self.claim(refs).await?;
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        self.refresh().await?;
        // In this order: where the version is not newer than the sequence, neither are the tasks.
        let (at, as_of) = (self.now(), self.latest());
        let mut tasks: HashMap<EntityId, Vec<Task>> = HashMap::new();
        let mut due = Vec::with_capacity(keys.len());
        for task in self.0.database.tasks(&keys).await? {
            if keys.contains(&task.key) {
                due.push(task.clone());
            }
            if let Subject::Entity(entity) = task.subject {
                tasks.entry(entity).or_default().push(task);
            }
        }
        due.sort_unstable_by_key(|task| task.due);
        let mut bases = self.current(&due).await?;
        let with_entity = |task: Task| {
            let entity = task.entity();
            let base = entity.and_then(|entity| bases.remove(&entity));
            let base = base.filter(|base| base.live && base.position.0 <= as_of.0);
            let seen = base.map(|base| Seen {
                at,
                as_of,
                tasks: tasks.get(&base.image.id).cloned().unwrap_or_default(),
                base,
            });
            Due { task, seen }
        };
        Ok(due.into_iter().map(with_entity).collect())
    }

    /// The newest versions of the entities of tasks.
    async fn current(&self, due: &[Task]) -> Result<HashMap<EntityId, Version>, Error> {
        let mut found = HashMap::with_capacity(due.len());
        let mut unknown: HashMap<&Tenant, Vec<EntityId>> = HashMap::new();
        for task in due {
            let Some(entity) = task.entity() else {
                continue;
            };
            match self.0.cache.get(entity) {
                Some(known) => {
                    found.insert(entity, known);
                }
                None => unknown.entry(&task.tenant).or_default().push(entity),
            }
        }
        for (tenant, ids) in unknown {
            let Some(tenant) = self.tenant_row(tenant).await? else {
                continue;
            };
            let positions = self.0.database.positions(&ids).await?;
            let positions: Vec<Position> = positions.into_iter().map(|(_, at)| at).collect();
            // Where documents are large these are not all; the others are read one by one.
            let (versions, _) = self.0.database.versions(tenant, &positions).await?;
            found.extend(
                versions
                    .into_iter()
                    .map(|version| (version.image.id, version)),
            );
        }
        Ok(found)
    }
}

impl UnitOfWork {
    /// Begins with an entity and its tasks as they were seen: the commit fails if it has moved
    /// since.
    pub async fn begin_with(&mut self, seen: Seen) -> Result<(Version, Vec<Task>), Error> {
        self.see_as_of(seen.as_of).await?;
        self.track(seen.base.image.id, Some(seen.base.position))?;
        Ok((seen.base, seen.tasks))
    }
}
