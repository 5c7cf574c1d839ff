//! Resumes runs of entities that are partially committed (`workflow-engine.md` §6.4).

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Done;
use crate::engine::{self, Fate, Run, Start};
use crate::error::Failure;
use crate::id::EntityId;
use crate::runtime::{
    Initiator, Runtime,
    anchor::{Anchor, Origin, Rest, Resumption, parsed},
    drive::Stopped,
    later::Continuation,
    promise::{Promise, free, provisional},
    turns::TaskInFlight,
};
use crate::storage::{Attribution, Task};

impl Runtime {
    /// Resumes a partially committed run, unless the entity has moved since.
    pub(super) async fn resume(
        &self,
        task: Task,
        entity: EntityId,
        slot: TaskInFlight,
    ) -> Result<Done, Failure> {
        let continuation = Continuation::read(&task)?;
        let by = Initiator {
            tenant: task.tenant.clone(),
            principal: continuation.principal,
            cancel: CancellationToken::new(),
        };
        // A run that a timer began is retried until it succeeds, like the timer
        // (`workflow-engine.md` §9.4).
        let is_of_timer = continuation.armed_by.is_some();
        let attribution = match continuation.armed_by {
            Some(author) => Attribution {
                author,
                executor: Some(by.principal.actor.clone()),
            },
            None => by.attribution(),
        };
        let mut session = self.session_for(&by, attribution);
        session.occupy(slot);
        session.follow(continuation.entry)?;
        let promised = match continuation.once {
            Some(once) => provisional(self.storage(), &by.tenant, &once)
                .await?
                .map(|answer| (once, answer)),
            None => None,
        };
        let unit = session.unit()?;
        let base = unit.read(entity).await?;
        let written = continuation.written;
        let Some(base) = base.filter(|base| base.image.transaction == written) else {
            unit.drop_task(&task);
            if let Some((once, _)) = &promised {
                free(unit, once)?;
            }
            session.finish(&by.cancel).await?;
            return Ok(Done::Yes);
        };
        info!(entity.id = %entity, "a partially committed run resumes");
        let mut so_far = String::new();
        if let Some((once, answer)) = &promised {
            so_far.clone_from(answer);
            let has_more = continuation.has_more;
            session.promise(Promise::resumed(once.clone(), answer.clone(), has_more));
        }
        let definitions = self.definitions(&mut session, &base.image.model).await?;
        let run = Run::update(
            &base.image,
            parsed(&base.image.document)?,
            Start::Resumed(continuation.suspended),
            session.id(),
            self.0.clock.now(),
        );
        let resumption = Resumption {
            rest: Rest {
                task: task.clone(),
                pause: is_of_timer.then_some(self.0.settings.task_pause),
            },
            dispatch: continuation.dispatch,
        };
        let mut anchor = Anchor::new(definitions, Origin::Resumed(base, resumption), None);
        let run = Box::new(self.as_known(run));
        // There is no caller to receive warnings.
        let mut warnings = Vec::new();
        let driven = self.drive_to_end(&mut session, run, &mut anchor, &by, &mut warnings);
        match driven.await {
            Ok(Fate::Dropped) => {
                // Another process has given the rest up and freed the key, which stays free.
                session.finish(&by.cancel).await?;
                Ok(Done::Yes)
            }
            Ok(Fate::Saved | Fate::Declined | Fate::Rested) => {
                session.finish_with(&so_far, &by.cancel).await?;
                Ok(Done::Yes)
            }
            // Members may reconnect; every other failure would repeat.
            Err(Stopped::Engine(error))
                if matches!(error, engine::Error::NotResumable { .. })
                    || (!is_of_timer && !error.is_about_members()) =>
            {
                warn!(%error, entity.id = %entity, "a partially committed run failed; the entity stays as it is");
                session.abandon_unfinished().await;
                drop(session);
                let once = promised.as_ref().map(|(once, _)| once);
                self.give_up(&task, by.attribution(), once).await?;
                Ok(Done::Yes)
            }
            Err(stopped) => Err(stopped.failure(self.0.settings.compat)),
        }
    }
}
