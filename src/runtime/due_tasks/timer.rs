//! Fires timers of entities (`workflow-engine.md` §9.4).

use std::time::Duration;

use tracing::debug;

use super::Done;
use crate::engine::{Entry, Run, RunRecord, Start, StartKind};
use crate::entity::Actor;
use crate::error::Failure;
use crate::id::{EntityId, StateName, TransitionName};
use crate::runtime::{
    Initiator, Runtime,
    anchor::{Anchor, DueTask, Origin, parsed},
    later::{TimerBody, timer_kind},
    turns::TaskInFlight,
};
use crate::storage::{Attribution, Due};

/// How long data read for an entity remains usable while its task waits for a slot.
const FRESH: Duration = Duration::from_millis(200);

/// The smallest difference between times: at the exact end of its grace period a timer has not
/// expired.
const TICK: Duration = Duration::from_micros(1);

impl Runtime {
    pub(super) async fn fire(
        &self,
        due: Due,
        entity: EntityId,
        slot: TaskInFlight,
    ) -> Result<Done, Failure> {
        let Due { task, seen } = due;
        if self.storage().is_peer() {
            debug!(entity.id = %entity, "scheduled task peer fire resolved");
        }
        let body = TimerBody::read(&task)?;
        let state = StateName::from(body.state());
        let timeout = body.timeout();
        let attribution = Attribution {
            author: body.author()?,
            executor: Some(Actor::system()),
        };
        let by = Initiator::system(&task.tenant);
        let mut session = self.session_for(&by, attribution);
        session.occupy(slot);
        let unit = session.unit()?;
        let now = self.0.clock.now();
        let mut tasks = None;
        let base = match seen.filter(|seen| now.since(seen.at) < FRESH) {
            Some(seen) => {
                let (base, of_it) = unit.begin_with(seen).await?;
                tasks = Some(of_it);
                Some(base)
            }
            None => unit.read(entity).await?,
        };
        let Some(base) = base.filter(|base| base.image.state == state) else {
            unit.drop_task(&task);
            session.finish(&by.cancel).await?;
            return Ok(Done::Yes);
        };
        let late = now.since(task.due);
        let grace = self.0.settings.expiry_grace;
        match timeout {
            Some(timeout) if late > timeout + grace => {
                let stored = match tasks {
                    Some(tasks) => tasks,
                    None => unit.tasks(&base).await?,
                };
                if stored.iter().all(|stored| stored.key != task.key) {
                    return Ok(Done::Yes);
                }
                let record = RunRecord {
                    start: StartKind::Timer,
                    asked: Some(task.name.to_string()),
                    at: now.micros(),
                    entries: vec![Entry::Expired {
                        transition: task.name.to_string(),
                        state: state.to_string(),
                    }],
                    ended: Vec::new(),
                };
                unit.note(&base, record)?;
                unit.drop_task(&task);
                session.finish(&by.cancel).await?;
                return Ok(Done::Yes);
            }
            Some(timeout) if late > timeout => {
                let over = (timeout + grace).saturating_sub(late) + TICK;
                return Ok(Done::Again(over));
            }
            Some(_) | None => {}
        }
        let Some(kind) = timer_kind(task.kind) else {
            return Ok(Done::Yes);
        };
        let definitions = self.definitions(&mut session, &base.image.model).await?;
        let run = Run::update(
            &base.image,
            parsed(&base.image.document)?,
            Start::Fired {
                kind,
                transition: TransitionName::from(&*task.name),
            },
            session.id(),
            now,
        );
        let pause = self.0.settings.task_pause;
        let due = DueTask { task, tasks, pause };
        let anchor = Anchor::new(definitions, Origin::Fired(base, due), None);
        let run = Box::new(self.as_known(run));
        self.drive(&mut session, run, anchor, &by).await?;
        session.finish(&by.cancel).await?;
        Ok(Done::Yes)
    }
}
