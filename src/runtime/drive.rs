//! The loop around the engine.

use std::{sync::Arc, time::Duration};

use tracing::warn;

use super::{
    COMMITTED, Error, Initiator, Runtime, Session,
    anchor::{Anchor, Origin, Rest},
    later::{self, Continuation},
    machines::with_status,
};
use crate::backoff::Backoff;
use crate::compat::Compat;
use crate::engine::{self, Fate, Input, Next, Run, RunOutcome};
use crate::error::{Code, Coded as _, Failure};
use crate::id::{DispatchKey, EntityId, Tenant, TransactionId};
use crate::storage::{self, Attribution, Task, TaskKind, Version};

/// The pauses between attempts to read what is to be resumed.
const RESUMING: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(30));

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
                let mut failure = stopped.failure(self.0.settings.compat).warned(warnings);
                if session.id() != began_in {
                    failure = failure.with("entityId", entity.to_string());
                    failure = failure.with(COMMITTED, began_in.to_string());
                }
                Err(session.fail(failure).await)
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
        // What a member wrote for a timer that is declined is rolled back.
        let before = match anchor.origin.task() {
            Some(_) => Some(session.unit()?.mark()),
            None => None,
        };
        let mut input = Input::Go;
        loop {
            let definitions = Arc::clone(&anchor.definitions);
            let step = tokio::select! {
                biased;
                step = self.step(&definitions, run, input, warnings) => step.map_err(Stopped::Engine)?,
                error = session.cancelled(by) => return Err(error.into()),
            };
            run = step.run;
            // Most runs make no call, so their futures need no room for one.
            let answered = match step.next {
                Next::Go => {
                    input = Input::Go;
                    continue;
                }
                Next::Dispatch(call) => {
                    // What a member does for a write that will be refused is done again with it.
                    self.storage().check_takes_writes()?;
                    session.unit()?.verify().await?;
                    Box::pin(self.dispatch(session, &mut run, &call, anchor, by)).await?
                }
                Next::OnRuns(call) => {
                    session.unit()?.verify().await?;
                    Box::pin(self.call_on_runs(session, &run, &call, anchor, by)).await?
                }
                Next::Settled => break,
            };
            if let Some(document) = answered.document() {
                anchor.definitions = self.learn(session, &definitions, document).await?;
            }
            input = Input::Answered(Box::new(answered));
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
        if let Some(before) = before.filter(|_| session.id() == began_in) {
            let unit = session.unit()?;
            if matches!(fate, Fate::Declined | Fate::Rested) {
                unit.roll_back_to(&before);
            }
            unit.release(before);
        }
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
            has_more: session.is_partial(),
        };
        let unit = session.unit()?;
        if let Some(done) = anchor.origin.task() {
            unit.drop_task(done);
        }
        unit.put_task(continuation.task(id, self.0.clock.now())?)?;
        let written = session.id();
        let _critical = session.critical();
        session.commit_segment(by).await?;
        session.has_committed(id, written);
        let pause = anchor.origin.pause();
        let (base, rest) = match self.committed_rest(session, id, written).await {
            Ok((base, rest)) => (base, rest.map(|task| Rest { task, pause })),
            Err(stopped) => {
                self.resume_later(&by.tenant, id);
                return Err(stopped);
            }
        };
        if let Some(rest) = &rest {
            session.is_unfinished(self, rest.task.clone(), rest.pause)?;
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

    /// An entity of which a part was committed, and the task that resumes its run.
    async fn committed_rest(
        &self,
        session: &mut Session,
        id: EntityId,
        written: TransactionId,
    ) -> Result<(Version, Option<Task>), Stopped> {
        let base = self.committed(session, id, written).await?;
        let tasks = session.unit()?.tasks(&base).await?;
        Ok((base, continuation(tasks)))
    }

    /// Has a partially committed run resumed whose task could not be read: no agenda holds it.
    fn resume_later(&self, tenant: &Tenant, id: EntityId) {
        let (runtime, by) = (self.clone(), Initiator::system(tenant));
        let stop = self.0.calls.stop().clone();
        self.0.calls.spawn(async move {
            let mut pauses = RESUMING;
            loop {
                let mut unit = runtime.storage().unit(&by.tenant, by.attribution());
                let tasks = async {
                    match unit.read(id).await? {
                        Some(version) => unit.tasks(&version).await,
                        None => Ok(Vec::new()),
                    }
                };
                match tasks.await {
                    Ok(tasks) => {
                        if let Some(task) = continuation(tasks) {
                            runtime.storage().postpone(task.handle(), Duration::ZERO);
                        }
                        return;
                    }
                    Err(error) => warn!(%error, entity.id = %id, "a partially committed run could not be read; retrying"),
                }
                let pause = tokio::time::sleep(pauses.pause());
                if stop.run_until_cancelled(pause).await.is_none() {
                    return;
                }
            }
        });
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

fn continuation(tasks: Vec<Task>) -> Option<Task> {
    let mut tasks = tasks.into_iter();
    tasks.find(|task| task.kind == TaskKind::Continuation)
}

/// Stores the outcome of a run in the unit.
fn settle(
    session: &mut Session,
    outcome: RunOutcome,
    anchor: &Anchor,
    tasks: &[Task],
) -> Result<(), Failure> {
    let id = outcome.image.id;
    // The version that stays; none if the run saves another.
    let mut kept = anchor.origin.base();
    match (outcome.fate, kept) {
        (Fate::Saved, _) => {
            anchor.stage(session, outcome.image, Some(outcome.record))?;
            kept = None;
        }
        (Fate::Declined | Fate::Rested, Some(base)) if !outcome.record.entries.is_empty() => {
            session.unit()?.note(base, outcome.record)?;
        }
        (Fate::Declined | Fate::Rested | Fate::Dropped, _) => {}
    }
    let unit = session.unit()?;
    if let Some(task) = anchor.origin.task() {
        unit.drop_task(task);
    }
    for change in outcome.timers {
        later::apply(unit, (id, kept), change, tasks)?;
    }
    Ok(())
}
