//! One request at work on a unit.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use tracing::warn;

use super::{Error, Initiator, token::Ticket, transactions::Transactions, turns::Seat};
use crate::error::Failure;
use crate::id::{EntityId, Tenant, TransactionId};
use crate::storage::{self, Attribution, Mark, Once, Outcome, Storage, Task, UnitOfWork};
use crate::telemetry::measure::Step;

/// A request at work on a unit, its own or one it joined.
///
/// Dropping a session undoes what the request did: its own unit is gone, and one that it joined
/// goes back, rolled back to where the request began.
#[derive(Debug)]
pub struct Session {
    transactions: Arc<Transactions>,
    id: TransactionId,
    /// The transaction it began with; another one once a part has been committed.
    entry: TransactionId,
    /// What goes on with the part that has been committed, should this session not.
    unfinished: Option<Unfinished>,
    /// How long is waited before a failed rest is tried again; none where it is given up, since a
    /// caller is told and decides.
    patience: Option<Duration>,
    /// What is to be remembered of the request, if it is to be done once.
    promise: Option<Promise>,
    /// None while it is parked.
    unit: Option<Box<UnitOfWork>>,
    role: Role,
    /// The frame that parking opens.
    level: usize,
    /// Attempts of calls that were made in it have greater numbers.
    since: u64,
    /// Of a task that was due: its place among those in flight.
    seat: Option<Seat>,
}

/// Tells what was committed of a request.
type SoFar = dyn Fn(TransactionId, &[EntityId]) -> String + Send + Sync;

/// A request that is to be done once (`stream.md` §2).
pub struct Promise {
    once: Once,
    /// What is answered if the request ends after a part of it was committed: given its
    /// transaction, and the entities that it was about so far.
    so_far: Box<SoFar>,
    entities: Vec<EntityId>,
    /// Whether an outcome was stored already.
    stored: bool,
}

impl Promise {
    pub fn new(
        once: Once,
        so_far: impl Fn(TransactionId, &[EntityId]) -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            once,
            so_far: Box::new(so_far),
            entities: Vec::new(),
            stored: false,
        }
    }

    fn outcome(&self, answer: &str) -> Outcome {
        Outcome {
            once: self.once.clone(),
            answer: answer.into(),
            again: self.stored,
        }
    }
}

impl std::fmt::Debug for Promise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Promise").field(&self.once).finish()
    }
}

#[derive(Debug)]
enum Role {
    /// The unit is ours, and in the table once it has been parked.
    Owner { in_table: bool },
    /// The unit is someone else's; ours is what came after the mark.
    Joined(Option<Mark>),
}

impl Session {
    pub(super) fn own(transactions: Arc<Transactions>, unit: Box<UnitOfWork>) -> Self {
        Self {
            since: transactions.next_attempt(),
            transactions,
            id: unit.id(),
            entry: unit.id(),
            unfinished: None,
            patience: None,
            promise: None,
            unit: Some(unit),
            role: Role::Owner { in_table: false },
            level: 0,
            seat: None,
        }
    }

    /// Waits for a unit that is open, and takes it.
    pub(super) async fn join(
        transactions: Arc<Transactions>,
        tenant: &Tenant,
        ticket: Ticket,
    ) -> Result<Self, Error> {
        let id = ticket.transaction;
        let lease = transactions
            .ask_to_join(tenant, ticket)?
            .await
            .map_err(|_| Error::TransactionNotFound(id))?;
        let (mut unit, level) = lease.take().ok_or(Error::TransactionNotFound(id))?;
        let mark = unit.mark();
        Ok(Self {
            since: transactions.next_attempt(),
            transactions,
            id,
            entry: id,
            unfinished: None,
            patience: None,
            promise: None,
            unit: Some(unit),
            role: Role::Joined(Some(mark)),
            level,
            seat: None,
        })
    }

    pub const fn id(&self) -> TransactionId {
        self.id
    }

    /// The transaction that callers are told.
    pub const fn entry(&self) -> TransactionId {
        self.entry
    }

    /// Goes on for a transaction that an earlier session began.
    pub(super) fn follow(&mut self, entry: TransactionId) -> Result<(), Error> {
        self.entry = entry;
        self.unit()?.follow(entry);
        Ok(())
    }

    /// Commits what was done so far, and goes on in another unit.
    pub(super) async fn commit_segment(&mut self, by: &Initiator) -> Result<(), Failure> {
        let cancel = self.cancel_of(by);
        let gone = Error::TransactionNotFound(self.id);
        let mut unit = self.unit.take().ok_or(gone)?;
        self.leave_table();
        if let Some(promise) = &self.promise {
            let so_far = (promise.so_far)(self.entry, &promise.entities);
            unit.remember(promise.outcome(&so_far))?;
        }
        let next = Box::new(unit.successor(self.entry));
        unit.commit(&cancel).await?;
        if let Some(promise) = &mut self.promise {
            promise.stored = true;
        }
        self.id = next.id();
        self.unit = Some(next);
        Ok(())
    }

    /// Begins the unit anew: what it has read is as old as its first read.
    pub(super) fn renew(&mut self) -> Result<(), Error> {
        let entry = self.entry;
        let next = Box::new(self.unit()?.successor(entry));
        self.leave_table();
        self.id = next.id();
        self.unit = Some(next);
        Ok(())
    }

    /// Remembers the task that goes on with what has been committed.
    pub(super) fn is_unfinished(&mut self, task: Task) -> Result<(), Error> {
        let unit = self.unit()?;
        let unfinished = Unfinished {
            storage: unit.storage().clone(),
            attribution: unit.attribution().clone(),
            task: Some(task),
        };
        if let Some(mut earlier) = self.unfinished.replace(unfinished) {
            earlier.task = None;
        }
        Ok(())
    }

    /// Has what has not been committed tried again, for as long as it fails.
    pub(super) const fn is_patient(&mut self, pause: Duration) {
        self.patience = Some(pause);
    }

    /// Gives up what has not been committed: for good, or until it is tried again.
    pub(super) async fn abandon_unfinished(&mut self) {
        if let Some(unfinished) = self.unfinished.take() {
            match self.patience {
                None => unfinished.abandon().await,
                Some(pause) => unfinished.put_off(pause),
            }
        }
    }

    /// Ends a request that was cancelled; one that has committed a part runs to its end.
    pub(super) async fn cancelled(&self, by: &Initiator) {
        self.cancel_of(by).cancelled().await;
    }

    fn cancel_of(&self, by: &Initiator) -> CancellationToken {
        if self.id == self.entry {
            by.cancel.clone()
        } else {
            CancellationToken::new()
        }
    }

    fn leave_table(&mut self) {
        if let Role::Owner { in_table } = &mut self.role
            && std::mem::take(in_table)
        {
            self.transactions.close(self.id);
        }
    }

    /// What a token must say to join in the attempt of a call that is about to be made.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket {
            transaction: self.id,
            level: self.level,
            attempt: self.transactions.next_attempt(),
        }
    }

    /// Lets nobody join any more in an attempt that has failed, or in calls that were made in it.
    pub(super) fn revoke(&self, ticket: Ticket) {
        self.transactions.revoke(ticket.transaction, ticket.attempt);
    }

    /// Whether the unit is someone else's.
    pub const fn has_joined(&self) -> bool {
        matches!(self.role, Role::Joined(_))
    }

    /// The unit, which is here unless it is parked.
    pub fn unit(&mut self) -> Result<&mut UnitOfWork, Error> {
        self.unit
            .as_deref_mut()
            .ok_or(Error::TransactionNotFound(self.id))
    }

    /// Has it work in a place that it gives back whenever it waits for others.
    pub(super) fn sits(&mut self, seat: Seat) {
        self.seat = Some(seat);
    }

    /// Gives its place to others, before it waits for a member.
    pub(super) fn leave_place(&mut self) {
        if let Some(seat) = &mut self.seat {
            seat.leave();
        }
    }

    /// Waits for a place, to work on.
    pub(super) async fn take_place(&mut self) {
        if let Some(seat) = &mut self.seat {
            seat.take().await;
        }
    }

    /// Lets others join the unit until it is taken back, and gives its place to others.
    pub(super) fn park(&mut self) {
        self.leave_place();
        if let Some(unit) = self.unit.take() {
            self.transactions.park(unit);
            if let Role::Owner { in_table } = &mut self.role {
                *in_table = true;
            }
        }
    }

    /// Takes the unit back, after those that have joined it in the meantime.
    pub(super) async fn take_back(&mut self) -> Result<(), Error> {
        let gone = || Error::TransactionNotFound(self.id);
        let lease = self
            .transactions
            .ask_back(self.id, self.level)?
            .await
            .map_err(|_| gone())?;
        self.unit = Some(lease.take().ok_or_else(gone)?.0);
        self.take_place().await;
        Ok(())
    }

    /// Has the outcome of the request stored by the commits of its work.
    pub fn promise(&mut self, promise: Promise) {
        self.promise = Some(promise);
    }

    /// Takes note of an entity that the request is about to write.
    pub(super) fn is_about(&mut self, id: EntityId) {
        if let Some(promise) = &mut self.promise {
            promise.entities.push(id);
        }
    }

    /// The same as [`Self::finish`], with what is answered, for a request that is to be done once.
    pub async fn finish_with(
        mut self,
        answer: &str,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        if let Some(promise) = self.promise.take() {
            self.unit()?.remember(promise.outcome(answer))?;
        }
        self.finish(cancel).await
    }

    /// Commits the unit if it is ours; otherwise its owner will, or will not.
    pub async fn finish(mut self, cancel: &CancellationToken) -> Result<(), Failure> {
        let Some(mut unit) = self.unit.take() else {
            return Err(Error::TransactionNotFound(self.id).into());
        };
        match &mut self.role {
            Role::Owner { in_table } => {
                if std::mem::take(in_table) {
                    self.transactions.close(self.id);
                }
                let cancel = match &self.unfinished {
                    Some(_) => &CancellationToken::new(),
                    None => cancel,
                };
                let outcome = unit.commit(cancel).await;
                match (&outcome, &mut self.unfinished) {
                    (Ok(_), Some(unfinished)) => unfinished.task = None,
                    (Ok(_), None) => {}
                    (Err(_), _) => Box::pin(self.abandon_unfinished()).await,
                }
                outcome
                    .map_err(|error: storage::Error| error.into())
                    .map(|_| ())
            }
            Role::Joined(mark) => {
                if let Some(mark) = mark.take() {
                    unit.release(mark);
                }
                self.transactions.put_back(unit);
                Ok(())
            }
        }
    }
}

/// A run that has committed a part and not the rest.
///
/// If nobody gives it up, it is gone on with by whoever looks after tasks: after a crash, and
/// also after a request that was dropped.
#[derive(Debug)]
struct Unfinished {
    storage: Storage,
    attribution: Attribution,
    /// None once there is nothing left to do.
    task: Option<Task>,
}

impl Unfinished {
    async fn abandon(mut self) {
        let Some(task) = self.task.take() else { return };
        let mut unit = self.storage.unit(&task.tenant, self.attribution.clone());
        unit.drop_task(&task);
        if let Err(error) = unit.commit(&CancellationToken::new()).await {
            warn!(%error, entity.id = %task.entity, "a continuation could not be given up; it will be tried again");
            self.task = Some(task);
        }
    }

    fn put_off(mut self, pause: Duration) {
        if let Some(task) = self.task.take() {
            self.storage.postpone(task.handle(), pause);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            self.storage.postpone(task.handle(), Duration::ZERO);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        match (&mut self.role, self.unit.take()) {
            (Role::Owner { in_table }, unit) => {
                let (begun, is_open) = (Instant::now(), *in_table || unit.is_some());
                if *in_table {
                    self.transactions.close(self.id);
                }
                drop(unit);
                if is_open {
                    Step::Rollback.since(begun);
                }
            }
            (Role::Joined(mark), Some(mut unit)) => {
                if let Some(mark) = mark.take() {
                    self.transactions.revoke(self.id, self.since);
                    unit.roll_back_to(&mark);
                    unit.release(mark);
                }
                self.transactions.put_back(unit);
            }
            (Role::Joined(mark), None) => {
                if let Some(mark) = mark.take() {
                    self.transactions.revoke(self.id, self.since);
                    self.transactions.abandon(self.id, self.level, mark);
                }
            }
        }
    }
}
