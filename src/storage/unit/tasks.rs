//! Tasks in a unit of work.

use std::sync::Arc;

use super::{UnitOfWork, WRITE_BYTES};
use crate::storage::{
    Error, Work,
    port::{EntityRow, Subject, Task, TaskKey, TaskLine, Version},
    task::{Dropped, NewTask, TaskChange},
};

impl UnitOfWork {
    /// The tasks of an entity, as this unit sees them. A change of them changes the entity
    /// too, so its version shows whether they are still the same at the commit.
    pub async fn tasks(&mut self, version: &Version) -> Result<Vec<Task>, Error> {
        let mut tasks = if version.row == EntityRow(0) {
            Vec::new()
        } else {
            self.storage.0.database.tasks_of(version.row).await?
        };
        for change in &self.tasks {
            match change {
                TaskChange::Drop(done) => tasks.retain(|task| !done.is(task)),
                TaskChange::Put(new, _) if new.entity == version.image.id => {
                    let of_name = |task: &Task| (task.kind, &task.name) == (new.kind, &new.name);
                    // Should it be dropped, the one it replaces must be too.
                    let replaced = tasks.iter().find(|task| of_name(task));
                    let key = replaced.map_or(TaskKey(0), |task| task.key);
                    let line = replaced.map_or(TaskLine(0), |task| task.line);
                    tasks.retain(|task| !of_name(task));
                    tasks.push(Task {
                        key,
                        line,
                        tenant: self.tenant.clone(),
                        subject: Subject::Entity(new.entity),
                        kind: new.kind,
                        name: Arc::clone(&new.name),
                        due: new.due,
                        body: Arc::clone(&new.body),
                    });
                }
                TaskChange::Put(..) => {}
            }
        }
        Ok(tasks)
    }

    /// Something to do later. The entity is one that this unit saves.
    pub fn put_task(&mut self, task: NewTask) -> Result<(), Error> {
        self.add_task(task, None)
    }

    /// Something to do later to an entity that this unit has read, and may leave as it is.
    pub fn put_task_of(&mut self, version: &Version, task: NewTask) -> Result<(), Error> {
        self.add_task(task, Some(version.row))
    }

    fn add_task(&mut self, task: NewTask, row: Option<EntityRow>) -> Result<(), Error> {
        self.bytes += task.body.len() + WRITE_BYTES;
        self.refuse_excess()?;
        self.tasks.push(TaskChange::Put(task, row));
        Ok(())
    }

    /// Something that is done, or not to be done any more.
    pub fn drop_task(&mut self, task: &Task) {
        if task.key != TaskKey(0) && task.entity().is_some() {
            // A unit that is too large for this is refused at its commit.
            let _ = self.settle(&Work::timer(task.key));
        }
        self.tasks.push(TaskChange::Drop(Dropped {
            key: task.key,
            subject: task.subject,
            kind: task.kind,
            name: Arc::clone(&task.name),
        }));
    }
}
