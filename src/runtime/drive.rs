//! The loop around the engine.

use std::sync::Arc;

use super::{
    Error, Initiator, Runtime, Session,
    anchor::{Anchor, Origin, Rest},
    later::{self, Continuation},
    machines::with_status,
};
use crate::compat::Compat;
use crate::engine::{self, Fate, Input, Next, Run, RunOutcome};
use crate::error::{Code, Coded as _, Failure};
use crate::id::{DispatchKey, EntityId, TransactionId};
use crate::storage::{self, Attribution, Task, TaskKind, Version};

/// Why a run did not finish.
pub(super) enum Stopped {
    Engine(engine::Error),
    Other(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<storage::Error> for Stopped {
    fn from(error: storage::Error) -> Self {
        Self::Other(error.into())
    }
}

impl Stopped {
    /// The failure as it is returned to callers.
    pub(super) fn failure(self, compat: Compat) -> Failure {
        let error = match self {
            Self::Other(failure) => return failure,
            // Where it has the code of a timeout, its message is that of any other call.
            Self::Engine(engine::Error::ProcessorTimedOut { after_ms })
                if compat.processor_timeout() == Code::DispatchTimeout =>
            {
                let kind = "processor";
                engine::Error::TimedOut { kind, after_ms }
            }
            Self::Engine(error) => error,
        };
        if error.code() == Code::TransitionNotFound {
            let status = compat.transition_not_found();
            return Failure::from(error).as_known(Code::TransitionNotFound, status);
        }
        let code = if error.is_disconnect_after_commit() {
            compat.disconnect_after_commit()
        } else {
            error.code()
        };
        if code == error.code() {
            return error.into();
        }
        Failure::from(error).as_known(code, code.status())
    }
}

impl Runtime {
    /// Drives a run until it settles; then the unit holds its outcome.
    pub(super) async fn drive(
        &self,
        session: &mut Session,
        run: Box<Run>,
        mut anchor: Anchor,
        by: &Initiator,
    ) -> Result<Vec<String>, Failure> {
        let (entity, began_in) = (run.subject().id, session.id());
        let mut warnings = Vec::new();
        let driven = self.drive_to_end(session, run, &mut anchor, by, &mut warnings);
        match driven.await {
            Ok(_) => Ok(warnings),
            Err(stopped) => {
                // What was committed stays; the failure is returned to the caller, who decides.
                let has_committed = session.id() != began_in;
                Box::pin(session.abandon_unfinished()).await;
                let failure = stopped.failure(self.0.settings.compat).warned(warnings);
                if !has_committed {
                    // Of a collection, a part of an earlier entity may be stored.
                    return Err(session.after_part(failure));
                }
                let failure = failure.with("entityId", entity.to_string());
                Err(failure.with("committedTransactionId", began_in.to_string()))
            }
        }
    }

    pub(super) async fn drive_to_end(
        &self,
        session: &mut Session,
        mut run: Box<Run>,
        anchor: &mut Anchor,
        by: &Initiator,
        warnings: &mut Vec<String>,
    ) -> Result<Fate, Stopped> {
        let mut tasks = Vec::new();
        let known = anchor.origin.take_tasks();
        if let Some(base) = anchor.origin.base()
            && (anchor.origin.task().is_some() || anchor.definitions.workflows.has_timers())
        {
            tasks = match known {
                Some(tasks) => tasks,
                None => session.unit()?.tasks(base).await?,
            };
            if let Some(due) = anchor.origin.task() {
                let before = tasks.len();
                tasks.retain(|task| task.key != due.key);
                // It was read before the entity, which may have moved or armed it again since.
                if tasks.len() == before {
                    return Ok(Fate::Dropped);
                }
            }
            run.has_armed(tasks.iter().filter_map(later::armed).collect());
        }
        let began_in = session.id();
        let mut input = Input::Go;
        loop {
            let definitions = Arc::clone(&anchor.definitions);
            let step = tokio::select! {
                biased;
                step = self.step(&definitions, run, input, warnings) => step.map_err(Stopped::Engine)?,
                error = session.cancelled(by) => return Err(error.into()),
            };
            run = step.run;
            input = match step.next {
                Next::Go => Input::Go,
                Next::Dispatch(call) => {
                    session.unit()?.verify().await?;
                    // Most runs make no call, so their futures need no room for one.
                    let calling = Box::pin(self.dispatch(session, &mut run, &call, anchor, by));
                    let answered = calling.await?;
                    if let Some(document) = answered.document() {
                        anchor.definitions = self.learn(session, &definitions, document).await?;
                    }
                    Input::Answered(Box::new(answered))
                }
                Next::OnRuns(call) => {
                    session.unit()?.verify().await?;
                    let called = Box::pin(self.call_on_runs(session, &run, &call, anchor, by));
                    let answered = called.await?;
                    if let Some(document) = answered.document() {
                        anchor.definitions = self.learn(session, &definitions, document).await?;
                    }
                    Input::Answered(Box::new(answered))
                }
                Next::Settled => break,
            };
        }
        // If a part was committed, it has stored what was pending when the run began.
        if let Some(base) = anchor.origin.base().filter(|_| session.id() != began_in)
            && anchor.definitions.workflows.has_timers()
        {
            tasks = session.unit()?.tasks(base).await?;
        }
        if let Some(document) = with_status(&anchor.definitions, &run)? {
            run.take_in(document);
        }
        let outcome = run.finish();
        let fate = outcome.fate;
        settle(session, outcome, anchor, &tasks)?;
        Ok(fate)
    }

    /// Commits the entity as it is, with the task that resumes the run.
    pub(super) async fn commit_so_far(
        &self,
        session: &mut Session,
        run: &mut Run,
        anchor: &mut Anchor,
        by: &Initiator,
        dispatch: DispatchKey,
    ) -> Result<(), Stopped> {
        let suspended = run
            .suspended()
            .ok_or_else(|| Failure::internal("a run that cannot be suspended"))?;
        let record = run.split_record();
        let image = run.image();
        let id = image.id;
        anchor.stage(session, image, Some(record))?;
        let continuation = Continuation {
            suspended,
            entry: session.entry(),
            written: session.id(),
            dispatch,
            principal: by.principal.clone(),
            armed_by: match session.unit()?.attribution() {
                Attribution {
                    author,
                    executor: Some(_),
                } => Some(author.clone()),
                Attribution { executor: None, .. } => None,
            },
            once: session.promised().cloned(),
        };
        let unit = session.unit()?;
        if let Some(done) = anchor.origin.task() {
            unit.drop_task(done);
        }
        unit.put_task(continuation.task(id, self.0.clock.now())?)?;
        let written = session.id();
        session.commit_segment(by).await?;
        session.has_committed(id, written);
        let base = self.committed(session, id, written).await?;
        let tasks = session.unit()?.tasks(&base).await?;
        let pause = anchor.origin.pause();
        let rest = tasks
            .into_iter()
            .find(|task| task.kind == TaskKind::Continuation)
            .map(|task| Rest { task, pause });
        if let Some(rest) = &rest {
            session.is_unfinished(rest.task.clone(), rest.pause)?;
        }
        anchor.origin = Origin::Committed(base, rest);
        Ok(())
    }

    /// Continues in the new transaction, if the entity is still as it was committed.
    pub(super) async fn resume_after_commit(
        &self,
        session: &mut Session,
        run: &mut Run,
        anchor: &mut Anchor,
    ) -> Result<(), Stopped> {
        let Some(base) = anchor.origin.base_mut() else {
            return Err(Failure::internal("a run that was not committed resumes").into());
        };
        let (id, written) = (base.image.id, base.image.transaction);
        *base = self.committed(session, id, written).await?;
        run.enter(&base.image, session.id());
        Ok(())
    }

    /// The entity, if that transaction wrote its newest version.
    async fn committed(
        &self,
        session: &mut Session,
        id: EntityId,
        written: TransactionId,
    ) -> Result<Version, Stopped> {
        let version = session.unit()?.read(id).await?;
        version
            .filter(|version| version.image.transaction == written)
            .ok_or_else(|| storage::Error::Conflict.into())
    }
}

/// Stores the outcome of a run in the unit.
fn settle(
    session: &mut Session,
    outcome: RunOutcome,
    anchor: &Anchor,
    tasks: &[Task],
) -> Result<(), Failure> {
    let id = outcome.image.id;
    match (outcome.fate, anchor.origin.base()) {
        (Fate::Saved, _) => anchor.stage(session, outcome.image, Some(outcome.record))?,
        (Fate::Declined, Some(base)) => {
            let unit = session.unit()?;
            // For a member that was called, it was staged as if the run would save it.
            unit.leave(id);
            unit.note(base, outcome.record)?;
        }
        (Fate::Declined | Fate::Dropped, _) => {}
    }
    let unit = session.unit()?;
    if let Some(task) = anchor.origin.task() {
        unit.drop_task(task);
    }
    for change in outcome.timers {
        later::apply(unit, id, change, tasks)?;
    }
    Ok(())
}
