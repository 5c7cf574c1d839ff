//! Partially committed runs whose rest is given up (`workflow-engine.md` §6.4).

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    Initiator, Runtime, Session,
    anchor::{Anchor, Origin, Rest, Resumption, parsed},
    drive::Stopped,
    later::Continuation,
    promise::free,
};
use crate::engine::{Fate, Run, Start};
use crate::error::Failure;
use crate::storage::{Attribution, Once, Task};

impl Runtime {
    /// Gives up the rest of a partially committed run: drops the task that resumes it, frees the
    /// idempotency key of its request, and arms the timers of the state in which the entity stays.
    ///
    /// It is boxed, because it ends a session, which may give up a rest.
    pub(super) fn give_up<'a>(
        &'a self,
        task: &'a Task,
        attribution: Attribution,
        once: Option<&'a Once>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let by = Initiator {
                tenant: task.tenant.clone(),
                principal: Continuation::read(task)?.principal,
                cancel: CancellationToken::new(),
            };
            let mut session = self.session_for(&by, attribution.clone());
            match self.rest(&mut session, task, &by).await {
                Ok(()) => {}
                // Of functions that compute times.
                Err(Stopped::Engine(error)) => {
                    warn!(%error, task.subject = ?task.subject, "the timers of the state in which an entity stays could not be armed");
                    session = self.session_for(&by, attribution);
                    session.unit()?.drop_task(task);
                }
                Err(Stopped::Other(failure)) => return Err(failure),
            }
            if let Some(once) = once {
                free(session.unit()?, once)?;
            }
            session.finish(&by.cancel).await
        })
    }

    /// Arms the timers of the state in which an entity stays.
    async fn rest(
        &self,
        session: &mut Session,
        task: &Task,
        by: &Initiator,
    ) -> Result<(), Stopped> {
        let continuation = Continuation::read(task)?;
        session.follow(continuation.entry)?;
        let unit = session.unit()?;
        let base = match task.entity() {
            Some(entity) => unit.read(entity).await?,
            None => None,
        };
        let written = continuation.written;
        let Some(base) = base.filter(|base| base.image.transaction == written) else {
            unit.drop_task(task);
            return Ok(());
        };
        let definitions = self.definitions(session, &base.image.model).await?;
        if !definitions.workflows.has_timers() {
            session.unit()?.drop_task(task);
            return Ok(());
        }
        let run = Run::update(
            &base.image,
            parsed(&base.image.document)?,
            Start::GivenUp(continuation.suspended),
            session.id(),
            self.0.clock.now(),
        );
        let resumption = Resumption {
            rest: Rest {
                task: task.clone(),
                pause: None,
            },
            dispatch: continuation.dispatch,
        };
        let mut anchor = Anchor::new(definitions, Origin::Resumed(base, resumption), None);
        let run = Box::new(self.as_known(run));
        let mut warnings = Vec::new();
        let resting = self.drive_to_end(session, run, &mut anchor, by, &mut warnings);
        if resting.await? == Fate::Dropped {
            // The task was completed elsewhere, which the commit finds.
            session.unit()?.drop_task(task);
        }
        Ok(())
    }
}
