//! One request working on a unit.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use tracing::warn;

use super::{Error, Initiator, token::Ticket, transactions::Transactions, turns::TaskInFlight};
use crate::error::Failure;
use crate::id::{EntityId, Tenant, TransactionId};
use crate::storage::{self, Attribution, Mark, Once, Outcome, Storage, Task, UnitOfWork};
use crate::telemetry::measure::Step;

/// A request working on its own unit or on one it has joined.
///
/// Dropping a session rolls back the request's work: its own unit is dropped; a joined unit is put
/// back, rolled back to where the request began.
#[derive(Debug)]
pub struct Session {
    transactions: Arc<Transactions>,
    id: TransactionId,
    /// The transaction in which it began; a different one once a part has been committed.
    entry: TransactionId,
    /// The task that resumes the rest after a partial commit, if this session does not.
    unfinished: Option<Unfinished>,
    /// The pause before a failed rest is retried; none if it is dropped, because the caller
    /// receives the failure and decides.
    patience: Option<Duration>,
    /// What is stored for the request's idempotency key.
    promise: Option<Promise>,
    /// None while the unit is parked.
    unit: Option<Box<UnitOfWork>>,
    role: Role,
    /// The frame that parking opens.
    level: usize,
    /// Calls made in this session have greater attempt numbers.
    since: u64,
    /// For a due task: its slot among the tasks in flight.
    seat: Option<TaskInFlight>,
    /// Whether its work is committed at once, and not in segments.
    is_whole: bool,
}

/// Writes the answer for a request of which a part was committed.
type SoFar = dyn Fn(TransactionId, &[EntityId]) -> String + Send + Sync;

/// A request with an idempotency key (`stream.md` §2).
pub struct Promise {
    once: Once,
    /// Makes the answer if the request ends after a partial commit, from its transaction and the
    /// entities it has written so far.
    so_far: Box<SoFar>,
    entities: Vec<EntityId>,
    /// Whether an outcome is already stored.
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
    /// The session's own unit; it is in the table once it has been parked.
    Owner { in_table: bool },
    /// The unit of another session; this session's work begins at the mark.
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
            is_whole: false,
        }
    }

    /// The owner of a unit that is parked and was nobody's session's before.
    pub(super) fn of_parked(transactions: Arc<Transactions>, id: TransactionId) -> Self {
        Self {
            since: transactions.next_attempt(),
            transactions,
            id,
            entry: id,
            unfinished: None,
            patience: None,
            promise: None,
            unit: None,
            role: Role::Owner { in_table: true },
            level: 0,
            seat: None,
            is_whole: false,
        }
    }

    /// Waits for an open unit, and takes it.
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
            is_whole: false,
        })
    }

    pub const fn id(&self) -> TransactionId {
        self.id
    }

    /// The transaction id that is returned to callers.
    pub const fn entry(&self) -> TransactionId {
        self.entry
    }

    /// Continues a transaction that an earlier session began.
    pub(super) fn follow(&mut self, entry: TransactionId) -> Result<(), Error> {
        self.entry = entry;
        self.unit()?.follow(entry);
        Ok(())
    }

    /// Commits the work so far, and continues in another unit.
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
        let published = unit.published_types();
        unit.commit(&cancel).await?;
        self.transactions.have_published(next.tenant(), &published);
        if let Some(promise) = &mut self.promise {
            promise.stored = true;
        }
        self.id = next.id();
        self.unit = Some(next);
        Ok(())
    }

    /// Replaces the unit by a new one, whose snapshot is newer.
    pub(super) fn renew(&mut self) -> Result<(), Error> {
        let entry = self.entry;
        let next = Box::new(self.unit()?.successor(entry));
        self.leave_table();
        self.id = next.id();
        self.unit = Some(next);
        Ok(())
    }

    /// Stores the task that resumes the run after a partial commit.
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

    /// Lets uncommitted work be retried for as long as it fails.
    pub(super) const fn is_patient(&mut self, pause: Duration) {
        self.patience = Some(pause);
    }

    /// Drops uncommitted work: for good, or until it is retried.
    pub(super) async fn abandon_unfinished(&mut self) {
        if let Some(unfinished) = self.unfinished.take() {
            match self.patience {
                None => unfinished.abandon().await,
                Some(pause) => unfinished.put_off(pause),
            }
        }
    }

    /// Ends a request that was cancelled; one that has committed a part is completed.
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

    /// The claims of a token for the next attempt of a call.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket {
            transaction: self.id,
            level: self.level,
            attempt: self.transactions.next_attempt(),
        }
    }

    /// Revokes the tokens of a failed attempt, and of calls that were made in it.
    pub(super) fn revoke(&self, ticket: Ticket) {
        self.transactions.revoke(ticket.transaction, ticket.attempt);
    }

    /// Has everything committed at once, or in segments again; what was before.
    pub(super) const fn keep_whole(&mut self, is_whole: bool) -> bool {
        std::mem::replace(&mut self.is_whole, is_whole)
    }

    /// Whether a part may be committed before the rest.
    pub(super) const fn may_be_parted(&self) -> bool {
        !self.is_whole && !self.has_joined()
    }

    /// Whether the unit belongs to another session.
    pub const fn has_joined(&self) -> bool {
        matches!(self.role, Role::Joined(_))
    }

    /// The unit, unless it is parked.
    pub fn unit(&mut self) -> Result<&mut UnitOfWork, Error> {
        self.unit
            .as_deref_mut()
            .ok_or(Error::TransactionNotFound(self.id))
    }

    /// Assigns a slot, which is released whenever the session waits.
    pub(super) fn sits(&mut self, seat: TaskInFlight) {
        self.seat = Some(seat);
    }

    /// Releases the slot, before waiting for a member.
    pub(super) fn leave_place(&mut self) {
        if let Some(seat) = &mut self.seat {
            seat.leave();
        }
    }

    /// Waits for a slot in which to continue.
    pub(super) async fn take_place(&mut self) {
        if let Some(seat) = &mut self.seat {
            seat.take().await;
        }
    }

    /// Lets other requests join the unit until it is taken back, and releases the slot.
    pub(super) fn park(&mut self) {
        self.leave_place();
        if let Some(unit) = self.unit.take() {
            self.transactions.park(unit);
            if let Role::Owner { in_table } = &mut self.role {
                *in_table = true;
            }
        }
    }

    /// Takes the unit back, after the requests that have joined it meanwhile.
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

    /// Stores the outcome of the request with its commits.
    pub fn promise(&mut self, promise: Promise) {
        self.promise = Some(promise);
    }

    /// Notes an entity that the request is about to write.
    pub(super) fn is_about(&mut self, id: EntityId) {
        if let Some(promise) = &mut self.promise {
            promise.entities.push(id);
        }
    }

    /// Like [`Self::finish`], with the answer to store for an idempotency key.
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

    /// Commits the unit if this session owns it; otherwise its owner commits or drops it.
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
                let published = unit.published_types();
                let tenant = (!published.is_empty()).then(|| unit.tenant().clone());
                let outcome = unit.commit(cancel).await;
                if let (Ok(_), Some(tenant)) = (&outcome, tenant) {
                    self.transactions.have_published(&tenant, &published);
                }
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

/// A partially committed run.
///
/// Unless it is dropped explicitly, the task executor resumes it: after a crash, and after a
/// request that was dropped.
#[derive(Debug)]
struct Unfinished {
    storage: Storage,
    attribution: Attribution,
    /// None once nothing is left to do.
    task: Option<Task>,
}

impl Unfinished {
    async fn abandon(mut self) {
        let Some(task) = self.task.take() else { return };
        let mut unit = self.storage.unit(&task.tenant, self.attribution.clone());
        unit.drop_task(&task);
        if let Err(error) = unit.commit(&CancellationToken::new()).await {
            warn!(%error, task.subject = ?task.subject, "a continuation could not be removed; it will be retried");
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
