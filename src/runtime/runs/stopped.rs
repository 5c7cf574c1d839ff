//! Ending runs that have stopped as incidents: by a cancel if that works, else by force.

use std::sync::Arc;

use tracing::warn;

use super::{
    Arrived, State,
    advance::{Advance, ended},
    plans::log,
    send::task_id,
    start::INVOCATION,
    state::{self, Invoked, PRIORITY},
};
use crate::clock::Timestamp;
use crate::compute::Principal;
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::{
    Arrival, Begin, HistoryEvent, Payload, Problem, Program, Run, RunError, StartedBy, Status,
    Waiting,
};
use crate::runtime::{
    Initiator, Runtime, Session,
    incidents::{Fault, contained},
    later::By,
};
use crate::storage::{RunsWanted, StoredRun, TaskNote, Work};

/// The reason in the history.
const REASON: &str = "cancelled by an operator after it failed too often";

/// The error of a run that is ended although its state cannot be read.
const UNREADABLE: &str =
    "the state of the run cannot be read: what it has done is not known, and nothing was undone";

/// How many runs below one are read at a time, and how many advances of a history.
const PAGE: i64 = 1_000;

impl Runtime {
    /// Cancels a run that has stopped, in the transaction of a session.
    pub(in crate::runtime) async fn cancel_stopped(
        &self,
        session: &mut Session,
        by: &Initiator,
        run: RunId,
    ) -> Result<Arrived, Failure> {
        let mark = session.unit()?.mark();
        let cancel = Arrival::Cancel {
            reason: REASON.into(),
        };
        let cancelled = contained(self.advance_in(session, by, Advance::of(run, cancel))).await;
        let unit = session.unit()?;
        let arrived = match cancelled {
            Ok(arrived) if arrived.is_changed => {
                unit.release(mark);
                return Ok(arrived);
            }
            // A saga that is being undone already takes no cancel.
            Ok(_) => {
                unit.roll_back_to(&mark);
                self.end_by_force(session, by, run).await?
            }
            Err(Fault::Failed(failure)) if failure.code() == Code::Conflict => return Err(failure),
            Err(Fault::Failed(failure))
                if matches!(failure.code(), Code::RunFinished | Code::RunNotFound) =>
            {
                // It has ended meanwhile, or was removed.
                unit.roll_back_to(&mark);
                unit.settle(&Work::run(run))?;
                Arrived::default()
            }
            Err(fault) => {
                let failure = fault.into_failure();
                warn!(failure = %failure.in_full(), run.id = %run, "a run cannot be cancelled, and is ended by force");
                // A turn that panicked may have left signals behind.
                unit.turn_ends();
                unit.roll_back_to(&mark);
                self.end_by_force(session, by, run).await?
            }
        };
        session.unit()?.release(mark);
        Ok(arrived)
    }

    /// Makes a run an incident whose state cannot be read, so that an operator may end it by force:
    /// another release may be able to read it. Returns why it was not cancelled.
    pub(super) async fn stop_unreadable(
        &self,
        by: &Initiator,
        run: RunId,
        why: Failure,
    ) -> Result<Failure, Failure> {
        let mut session = self.session_for(by, by.attribution());
        let fault = Fault::Failed(why);
        self.stop_run(&mut session, &by.tenant, run, &fault).await?;
        session.finish(&by.cancel).await?;
        let message = format!(
            "the state of the run {run} cannot be read, so it is an incident now: see `interlock \
             incidents list`, and end it with `interlock incidents cancel`"
        );
        Ok(Failure::new(Code::StorageDamaged, message))
    }

    /// Ends a run without advancing it.
    async fn end_by_force(
        &self,
        session: &mut Session,
        by: &Initiator,
        run: RunId,
    ) -> Result<Arrived, Failure> {
        let stored = session.unit()?.run(run).await?;
        let stored = stored.ok_or_else(|| super::not_found(&run.to_string()))?;
        if stored.ended.is_some() {
            session.unit()?.settle(&Work::run(run))?;
            return Ok(Arrived::default());
        }
        let now = self.0.clock.now();
        let read = State::read(&stored);
        let is_readable = read.is_ok();
        let mut state = match read {
            Ok(state) => state,
            Err(_) => self.unreadable(&stored, by).await?,
        };
        let out = state.run.outstanding().map(|task| task.ordinal);
        let tenant = &by.tenant;
        let program = self.program_of(tenant, &stored.name, &state.digest).await;
        let program = program.ok();
        let history = state.end_by_force(now, &stored.name.name, program.as_deref());
        if !is_readable {
            state.run.error = Some(RunError {
                code: None,
                message: UNREADABLE.into(),
            });
        }
        session
            .unit()?
            .advance_run(&stored, state.stored(&history)?)?;
        // Of a run whose form cannot be read there is nothing to show.
        if let Some(program) = program {
            let later = self.mirror_later(session, tenant, &stored.name, run, &program);
            later.await?;
        }
        if let Some(ordinal) = out {
            session.unit()?.note_task(TaskNote::GivenUp {
                task: task_id(&state.run.id, ordinal),
                reason: REASON.into(),
            });
        }
        let mut arrived = Arrived {
            is_taken: true,
            is_changed: true,
            status: Status::Cancelled,
            ..Arrived::default()
        };
        self.cancel_below(session, by, run, &mut arrived).await?;
        if let Some(parent) = stored.parent {
            let ended = Arrival::ChildEnded {
                run: state.run.id.clone(),
                status: Status::Cancelled,
                output: None,
                error: state.run.error.clone(),
            };
            self.add_advance(session, by, parent, ended, &mut arrived)
                .await?;
        }
        Ok(arrived)
    }

    /// Cancels the runs that a run has started and that have not ended.
    async fn cancel_below(
        &self,
        session: &mut Session,
        by: &Initiator,
        run: RunId,
        arrived: &mut Arrived,
    ) -> Result<(), Failure> {
        let mut wanted = RunsWanted {
            parent: Some(run),
            ..RunsWanted::default()
        };
        loop {
            let page = self.storage().runs(&by.tenant, &wanted, PAGE).await?;
            for child in page.iter().filter(|child| child.ended.is_none()) {
                let cancel = Arrival::Cancel {
                    reason: REASON.into(),
                };
                self.add_advance(session, by, child.id, cancel, arrived)
                    .await?;
            }
            match page.last() {
                Some(last) if i64::try_from(page.len()).is_ok_and(|count| count == PAGE) => {
                    wanted.before = Some(last.id);
                }
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// Advances another run in the same transaction; one that cannot be advanced stays as it is, and
    /// is an incident from then on.
    async fn add_advance(
        &self,
        session: &mut Session,
        by: &Initiator,
        run: RunId,
        arrival: Arrival,
        arrived: &mut Arrived,
    ) -> Result<(), Failure> {
        let mark = session.unit()?.mark();
        let advanced = contained(self.advance_in(session, by, Advance::of(run, arrival))).await;
        let unit = session.unit()?;
        match advanced {
            Ok(advanced) => {
                arrived.effects.extend(advanced.effects);
                arrived.permits.extend(advanced.permits);
            }
            Err(Fault::Failed(failure)) if failure.code() == Code::Conflict => return Err(failure),
            Err(fault) => {
                unit.turn_ends();
                unit.roll_back_to(&mark);
                self.stop_run(session, &by.tenant, run, &fault).await?;
                let failure = fault.into_failure();
                warn!(failure = %failure.in_full(), run.id = %run, "a run was not advanced with one that is ended by force; see `interlock incidents list`");
            }
        }
        session.unit()?.release(mark);
        Ok(())
    }

    /// The end of a child that its parent was not told of, because it could not be advanced then.
    pub(super) async fn missed_end(
        &self,
        tenant: &Tenant,
        child: &str,
    ) -> Result<Option<Arrival>, Failure> {
        let Some(run) = RunId::parse(child) else {
            return Ok(None);
        };
        let Some(stored) = self.storage().run(tenant, run).await? else {
            return Ok(None);
        };
        if stored.ended.is_none() {
            return Ok(None);
        }
        let state = self.0.parsed.read(&stored)?;
        let mut history = Vec::new();
        if let Some(Payload::At(at)) = &state.run.output {
            let found = self.storage().run_events(run, at.saturating_sub(1), 1);
            for events in found.await? {
                history.extend(state::events(&events.record)?);
            }
        }
        Ok(Some(ended(&state, &history)))
    }

    /// What is stored of a run from now on whose state cannot be read.
    async fn unreadable(&self, stored: &StoredRun, by: &Initiator) -> Result<State, Failure> {
        let mut last = 0;
        loop {
            let events = self.storage().run_events(stored.id, last, PAGE).await?;
            let Some(newest) = events.last() else { break };
            last = newest.last;
        }
        let id = self.name_below(stored, by).await?;
        let mut state = State::unreadable(stored, id, &by.principal);
        state.run.sequence = last;
        Ok(state)
    }

    /// The identifier of a run whose state cannot be read: as its parent knows it, if it has one.
    async fn name_below(&self, stored: &StoredRun, by: &Initiator) -> Result<Box<str>, Failure> {
        let parent = match stored.parent {
            Some(parent) => self.storage().run(&by.tenant, parent).await?,
            None => None,
        };
        let parent = parent.and_then(|parent| self.0.parsed.read(&parent).ok());
        let waiting = parent
            .as_ref()
            .and_then(|parent| parent.run.waiting.as_ref());
        Ok(match waiting {
            Some(Waiting::Child { run }) if RunId::parse(run) == Some(stored.id) => run.clone(),
            Some(_) | None => stored.id.to_string().into(),
        })
    }
}

impl State {
    /// What is known of a run whose state cannot be read: what the database has beside it.
    pub(super) fn unreadable(stored: &StoredRun, id: Box<str>, by: &Principal) -> Self {
        let name = &stored.name.name;
        let begin = Begin {
            id,
            started_by: StartedBy::Caller,
            depth: 0,
            input: Arc::from("null"),
            now: stored.created,
        };
        let (run, _) = Run::begin(begin, &Program::of_action(""));
        let invoked = name.starts_with(INVOCATION).then(|| Invoked {
            priority: PRIORITY,
            labels: std::collections::BTreeMap::new(),
            not_before: None,
        });
        Self {
            version: "".into(),
            digest: "".into(),
            by: By::of(&by.actor, &by.roles),
            key: None,
            invoked,
            used: std::collections::BTreeMap::new(),
            run,
        }
    }

    /// Ends the run, and logs which steps of a saga are not undone.
    fn end_by_force(
        &mut self,
        now: Timestamp,
        name: &str,
        program: Option<&Program>,
    ) -> Vec<HistoryEvent> {
        let errors = |run: &Run| run.saga.as_ref().map_or(0, |saga| saga.errors.len());
        let before = errors(&self.run);
        let history = self.run.end_by_force(now, REASON, program);
        let saga = self.run.saga.iter();
        for error in saga.flat_map(|saga| saga.errors.iter().skip(before)) {
            let problem = Problem::CompensationFailed {
                step: error.step.clone(),
                reason: error.message.clone(),
            };
            log(&self.run.id, name, &problem);
        }
        history
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::ManualClock;
    use crate::runtime::runs::look::tests::{caller, define, look_at_all, of, register, start};
    use crate::runtime::{RunSettings, testing::runtime_with};

    #[tokio::test]
    async fn a_task_is_given_up_once_the_end_by_force_is_committed() {
        let runtime = runtime_with(&ManualClock::default(), RunSettings::DEFAULT).await;
        let by = caller();
        register(&runtime, &by, "a", None).await;
        let document = json!({"kind": "Workflow", "name": "w", "version": "1",
            "start": {"run": "@actions/a", "transitions": {"success": "flo.Completed"}}});
        define(&runtime, &by, &document).await;
        let run = start(&runtime, &by, of("w")).await;
        look_at_all(&runtime).await;
        look_at_all(&runtime).await;
        let read = runtime.read_run(&by.tenant, run).await.expect("reads");
        let task = read.state.run.outstanding().expect("a task").ordinal;
        let task = task_id(&read.state.run.id, task);
        let is_known = || runtime.0.channels.view(&by.tenant, &task).is_some();
        assert!(is_known());
        for commits in [false, true] {
            let mut session = runtime.session(&by, None).await.expect("a session");
            let ended = runtime.end_by_force(&mut session, &by, run).await;
            assert!(ended.expect("ends").is_changed);
            if commits {
                session.finish(&by.cancel).await.expect("commits");
            } else {
                drop(session);
            }
            for (tenant, note) in runtime.storage().task_notes() {
                runtime.take_note(&tenant, note);
            }
            assert_eq!(is_known(), !commits);
        }
    }
}
