//! Runs of step workflows: from what arrives to the commit that follows it (`runs.md`).
//!
//! A run lives nowhere: whatever arrives for it, a start, an answer, a due time, a signal, is taken
//! by loading the run, advancing the pure machine of [`crate::program`], and committing with a
//! comparison of its position. What a commit makes necessary, to take the first step or to send a
//! task, is found by looking at the run again ([`Runtime::look_at_run`]): after the commit, when a
//! timer fires, and after a restart.

mod advance;
mod arrivals;
mod ask;
mod calls;
mod connectors;
mod ends;
mod entity;
mod entity_call;
mod handover;
mod leases;
mod list;
mod look;
mod mirror;
mod modules;
mod parsed;
mod plans;
mod search;
mod send;
mod start;
mod state;
mod stopped;
mod takeover;
mod tasks;
mod transactions;
mod transition;
mod tries;
mod used;
mod view;

use advance::Advance;
pub use advance::Arrived;
pub(super) use arrivals::Arrivals;
pub use arrivals::Arriving;
pub use list::{AttributeFilter, RunsAsked};
pub(super) use plans::Plans;
pub use send::parts as task_parts;
use send::task_id;
pub use start::{RunStarted, StartRun};
pub use state::{Invoked, RunKind, RunState, events};
pub use tasks::{Invoke, InvokedTask, ShownTask, TaskPlace, TaskStatus, TasksAsked};
pub use tries::{Tries, Try};
pub use view::{RunDetails, Shown};

use std::sync::Arc;

use super::{Initiator, Runtime, Session, turns::TaskInFlight};
use crate::compute::tasks::Ends;
use crate::entity::Actor;
use crate::error::{Code, Failure};
use crate::id::{RunId, Tenant};
use crate::program::{Arrival, Effect, Status};
use crate::storage::{Attribution, RunKey, StoredRun, TaskNote};
pub(super) use modules::Modules;
pub(super) use parsed::Parsed;

pub use calls::Calls;
use ends::TaskEnds;
pub(in crate::runtime) use entity_call::EntityCall;
use state::{ReadRun, RunState as State};
pub(in crate::runtime) use transactions::TaskTransactions;

/// How many conflicts a step on an entity meets before it fails.
const CONFLICTS_MAX: u32 = 10;

/// After how many conflicts each step on an entity is a commit of its own, so that further ones are
/// known to be its own.
const CONFLICTS_APART: u32 = 2;

/// How many bytes the type of a signal has at most: it is in the state of the run.
const SIGNAL_TYPE_MAX: usize = 256;

fn not_found(id: &str) -> Failure {
    Failure::new(Code::RunNotFound, format!("there is no run {id}")).with("runId", id)
}

impl Runtime {
    /// The run that has that identifier, also if somebody chose it.
    pub async fn find_run(&self, tenant: &Tenant, id: &str) -> Result<RunId, Failure> {
        let storage = self.storage();
        let found = match RunId::parse(id) {
            Some(run) => {
                let stored = storage.run(tenant, run).await?;
                // The text says whether it is a saga.
                let is_it = |stored: &Arc<StoredRun>| {
                    !id.starts_with(RunId::SAGA_PREFIX)
                        || self
                            .0
                            .parsed
                            .read(stored)
                            .is_ok_and(|state| *state.run.id == *id)
                };
                stored.filter(is_it).map(|run| run.id)
            }
            None => storage.run_of_key(tenant, &RunKey::chosen(id)).await?,
        };
        found.ok_or_else(|| not_found(id))
    }

    /// The run of that identifier, which the transaction of the session may have started.
    async fn find_run_in(
        &self,
        session: &mut Session,
        tenant: &Tenant,
        id: &str,
    ) -> Result<RunId, Failure> {
        let begun = match RunId::parse(id) {
            Some(run) => {
                let stored = session.unit()?.run_begun(run).await?;
                let state = stored.map(|stored| self.0.parsed.read(&stored));
                let state = state.transpose()?;
                state.is_some_and(|it| *it.run.id == *id).then_some(run)
            }
            None => session.unit()?.run_begun_with(&RunKey::chosen(id)),
        };
        match begun {
            None => self.find_run(tenant, id).await,
            Some(run) => Ok(run),
        }
    }

    /// A run as it was committed last, by its identifier.
    pub async fn stored_run(&self, tenant: &Tenant, id: &str) -> Result<Arc<StoredRun>, Failure> {
        let run = self.find_run(tenant, id).await?;
        let stored = self.storage().run(tenant, run).await?;
        stored.ok_or_else(|| not_found(id))
    }

    /// How many bytes an input or an output of a run may have.
    pub fn run_payload_max(&self) -> usize {
        self.0.settings.runs.limits.payload_max
    }

    /// What stores how tasks end.
    pub fn task_ends(&self) -> Arc<dyn Ends> {
        Arc::new(TaskEnds(self.clone()))
    }

    /// What is stored of a run.
    pub fn run_state(&self, stored: &StoredRun) -> Result<Arc<RunState>, Failure> {
        self.0.parsed.read(stored)
    }

    /// Delivers a signal, in the transaction of a session.
    pub async fn signal_run(
        &self,
        session: &mut Session,
        by: &Initiator,
        id: &str,
        kind: &str,
        payload: Arc<str>,
    ) -> Result<Arrived, Failure> {
        if kind.is_empty() || kind.starts_with('_') {
            return Err(Failure::new(
                Code::BadRequest,
                "the type of a signal must not be empty or begin with `_`",
            ));
        }
        if kind.len() > SIGNAL_TYPE_MAX {
            let message = format!("the type of a signal has more than {SIGNAL_TYPE_MAX} bytes");
            return Err(Failure::new(Code::BadRequest, message));
        }
        let kind: Arc<str> = kind.into();
        let run = self.find_run_in(session, &by.tenant, id).await?;
        // A run that is being advanced in this transaction takes its signals after its turn.
        if session.unit()?.puts_off_signal(run, &kind, &payload) {
            return Ok(Arrived {
                is_changed: true,
                status: Status::Running,
                ..Arrived::default()
            });
        }
        let arrival = Arrival::Signal {
            kind: (&*kind).into(),
            payload,
        };
        self.advance_in(session, by, Advance::of(run, arrival))
            .await
    }

    /// Cancels a run with the runs below it, in the transaction of a session.
    pub async fn cancel_run(
        &self,
        session: &mut Session,
        by: &Initiator,
        id: &str,
        reason: &str,
    ) -> Result<Arrived, Failure> {
        let arrival = Arrival::Cancel {
            reason: reason.into(),
        };
        let run = self.find_run_in(session, &by.tenant, id).await?;
        if let Some(stored) = session.unit()?.run(run).await?
            && let Err(failure) = self.0.parsed.read(&stored)
        {
            return Err(self.stop_unreadable(by, run, failure).await?);
        }
        self.advance_in(session, by, Advance::of(run, arrival))
            .await
    }

    /// What the run wants done after the commit of an advance.
    pub fn after_advance(&self, tenant: &Tenant, arrived: &mut Arrived) {
        arrived.spend_permits();
        for (run, effect) in arrived.effects.drain(..) {
            self.take_effect(tenant, &run, effect);
        }
    }

    /// Has the tasks of an advance sent and given up after the commit of the transaction that it is
    /// part of. The request that commits it knows no plans, so they do not learn from it, and the
    /// permits of what is rolled back are spent, too.
    pub fn follows_commit(
        &self,
        session: &mut Session,
        arrived: &mut Arrived,
    ) -> Result<(), Failure> {
        let unit = session.unit()?;
        arrived.spend_permits();
        for (run, followed) in arrived.effects.drain(..) {
            let note = match followed.effect {
                Effect::Send(task) => TaskNote::Issued {
                    task: task_id(&run, task.ordinal),
                },
                Effect::GiveUp { ordinal, reason } => TaskNote::GivenUp {
                    task: task_id(&run, ordinal),
                    reason,
                },
                Effect::CancelChild { .. }
                | Effect::Record { .. }
                | Effect::Keep { .. }
                | Effect::Log(_) => continue,
            };
            unit.note_task(note);
        }
        Ok(())
    }

    /// Does what a commit makes necessary for a task.
    pub(super) fn take_note(&self, tenant: &Tenant, note: TaskNote) {
        match note {
            TaskNote::Issued { task } => self.call_issued(tenant, task),
            TaskNote::GivenUp { task, reason } => self.let_go(tenant, &task, &reason),
        }
    }

    /// Gives a task up after the commit.
    fn let_go(&self, tenant: &Tenant, task: &str, reason: &str) {
        let given_up = self.give_up_task(tenant, task, reason);
        self.call_given_up(tenant, task, given_up);
    }

    /// Takes an arrival of a run that was read, in a transaction of its own; of an answer with the
    /// number of the delivery, which is 0 if none is known. A slot is released while the run waits.
    async fn arrive(
        &self,
        tenant: &Tenant,
        mut read: ReadRun,
        arrival: Arrival,
        attempt: u32,
        mut slot: Option<TaskInFlight>,
    ) -> Result<Arrived, Failure> {
        let run = read.stored.id;
        let id = read.state.run.id.clone();
        let mut tries = self.tries(tenant, &id);
        loop {
            let this = tries.begin().await;
            let by = starter_of(tenant, &read.state)?;
            let attribution = Attribution {
                author: by.principal.actor.clone(),
                executor: Some(Actor::system()),
            };
            let mut session = self.session_for(&by, attribution);
            session.is_try(this);
            if let Some(slot) = slot.take() {
                session.occupy(slot);
                session.take_slot().await;
            }
            let advance = Advance {
                run,
                arrival: arrival.clone(),
                attempt,
                read: Some(read),
            };
            let mut arrived = self.advance_in(&mut session, &by, advance).await?;
            if !arrived.is_changed {
                return Ok(arrived);
            }
            slot = session.vacate();
            match session.finish(&by.cancel).await {
                Ok(()) => {
                    self.after_advance(tenant, &mut arrived);
                    return Ok(arrived);
                }
                Err(failure) => {
                    // What it has taken of plans is free before it is tried again.
                    drop(arrived);
                    if !tries.again_after(&failure).await {
                        return Err(failure);
                    }
                    read = self.read_run(tenant, run).await?;
                }
            }
        }
    }

    /// A run with its state.
    fn read_of(&self, stored: Arc<StoredRun>) -> Result<ReadRun, Failure> {
        let state = self.0.parsed.read(&stored)?;
        Ok(ReadRun { stored, state })
    }

    /// A run as it was committed last.
    async fn read_run(&self, tenant: &Tenant, run: RunId) -> Result<ReadRun, Failure> {
        let stored = self.storage().run(tenant, run).await?;
        self.read_of(stored.ok_or_else(|| not_found(&run.to_string()))?)
    }
}

/// Who started a run, in whose name it writes.
fn starter_of(tenant: &Tenant, state: &State) -> Result<Initiator, Failure> {
    state.initiator(&Initiator::system(tenant))
}
