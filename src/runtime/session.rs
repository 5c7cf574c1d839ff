//! One request working on a unit.

mod doing;
mod slot;
mod unfinished;

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::{
    Critical, CriticalGuard, Error, Initiator, Runtime, machines::Acting, promise::Promise,
    runs::Try, token::Ticket, transactions::Transactions, turns::TaskInFlight,
};
use crate::error::Failure;
use crate::id::{EntityId, TransactionId};
use crate::storage::{Assumption, Mark, Once, Task, UnitOfWork};
use crate::telemetry::measure::Step;

use unfinished::Unfinished;

/// The property of a failure that names what was committed before it.
pub const COMMITTED: &str = "committedTransactionId";

/// How deep calls may nest whose members call back and so cause the next call.
pub(super) const NESTED_CALLS_MAX: usize = 32;

/// A request working on its own unit or on one it has joined.
///
/// Dropping a session rolls back the request's work: its own unit is dropped; a joined unit is put
/// back, rolled back to where the request began.
#[derive(Debug)]
pub struct Session {
    transactions: Arc<Transactions>,
    /// The transaction it works in; for an owner another one after each partial commit.
    id: TransactionId,
    /// Calls made in this session have greater attempt numbers.
    since: u64,
    /// What is stored for the request's idempotency key.
    promise: Option<Promise>,
    /// None while the unit is parked.
    unit: Option<Box<UnitOfWork>>,
    role: Role,
    /// What of the request is finished if its caller leaves.
    critical: Critical,
    /// The entities that are being moved while runs are signalled; the innermost is the last.
    moving: Vec<EntityId>,
}

#[derive(Debug)]
enum Role {
    Owner(Owner),
    Guest(Guest),
}

/// The unit is the session's own.
#[derive(Debug)]
struct Owner {
    /// The transaction in which it began; a different one once a part has been committed.
    entry: TransactionId,
    progress: Progress,
    /// Whether the unit is in the table of open units: since it was first parked.
    in_table: bool,
    /// For a due task: its slot among the tasks in flight.
    slot: Option<TaskInFlight>,
    /// Of what has arrived for a run.
    attempt: Try,
    /// What actions of state machines are done for.
    acting: Option<Acting>,
    /// Whether its work is committed at once, and not in segments.
    is_whole: bool,
    /// The first entity of which a part was committed before the rest, and in which transaction.
    committed: Option<Box<(EntityId, TransactionId)>>,
}

/// How much of an owner's work is committed.
#[derive(Debug)]
enum Progress {
    Nothing,
    /// A part: a task resumes the rest, if this session does not.
    Part(Box<Unfinished>),
}

/// The unit is that of another session.
#[derive(Debug)]
struct Guest {
    /// The frame that parking opens.
    level: usize,
    /// Where this session's work begins; none once it has ended.
    mark: Option<Mark>,
}

impl Owner {
    const fn new(entry: TransactionId, in_table: bool) -> Self {
        Self {
            entry,
            progress: Progress::Nothing,
            in_table,
            slot: None,
            attempt: Try::FIRST,
            acting: None,
            is_whole: false,
            committed: None,
        }
    }
}

impl Session {
    fn new(
        transactions: Arc<Transactions>,
        id: TransactionId,
        unit: Option<Box<UnitOfWork>>,
        role: Role,
    ) -> Self {
        Self {
            since: transactions.next_attempt(),
            transactions,
            id,
            promise: None,
            unit,
            role,
            critical: Critical::default(),
            moving: Vec::new(),
        }
    }

    pub(super) fn own(transactions: Arc<Transactions>, unit: Box<UnitOfWork>) -> Self {
        let id = unit.id();
        let role = Role::Owner(Owner::new(id, false));
        Self::new(transactions, id, Some(unit), role)
    }

    /// The owner of a unit that is parked and was nobody's session's before.
    pub(super) fn of_parked(transactions: Arc<Transactions>, id: TransactionId) -> Self {
        let role = Role::Owner(Owner::new(id, true));
        Self::new(transactions, id, None, role)
    }

    /// Waits for an open unit, and takes it. The request is cancelled when the call in which it
    /// joins fails.
    pub(super) async fn join(
        transactions: Arc<Transactions>,
        by: &Initiator,
        ticket: Ticket,
    ) -> Result<Self, Error> {
        let id = ticket.transaction;
        let lease = transactions
            .ask_to_join(&by.tenant, ticket, &by.cancel)?
            .await
            .map_err(|_| Error::TransactionNotFound(id))?;
        let (mut unit, level) = lease.take().ok_or(Error::TransactionNotFound(id))?;
        let mark = Some(unit.mark());
        let role = Role::Guest(Guest { level, mark });
        Ok(Self::new(transactions, id, Some(unit), role))
    }

    /// Makes the session part of a request, which may be dropped.
    pub fn belongs_to(&mut self, critical: Critical) {
        self.critical = critical;
    }

    /// While it is held, the request is worked on although its caller has left.
    pub(super) fn critical(&self) -> CriticalGuard {
        self.critical.enter()
    }

    pub const fn id(&self) -> TransactionId {
        self.id
    }

    /// The transaction id that is returned to callers.
    pub const fn entry(&self) -> TransactionId {
        match &self.role {
            Role::Owner(owner) => owner.entry,
            Role::Guest(_) => self.id,
        }
    }

    const fn owner(&mut self) -> Option<&mut Owner> {
        match &mut self.role {
            Role::Owner(owner) => Some(owner),
            Role::Guest(_) => None,
        }
    }

    /// Continues a transaction that an earlier session began.
    pub(super) fn follow(&mut self, entry: TransactionId) -> Result<(), Error> {
        if let Some(owner) = self.owner() {
            owner.entry = entry;
        }
        self.unit()?.follow(entry);
        Ok(())
    }

    /// Commits the work so far, and continues in another unit.
    pub(super) async fn commit_segment(&mut self, by: &Initiator) -> Result<(), Failure> {
        let cancel = self.cancel_of(by);
        let gone = Error::TransactionNotFound(self.id);
        let mut unit = self.unit.take().ok_or(gone)?;
        self.leave_table();
        let entry = self.entry();
        if let Some(promise) = &self.promise {
            unit.remember(promise.provisional(entry))?;
        }
        let next = Box::new(unit.successor(entry));
        unit.commit(&cancel).await?;
        if let Some(promise) = &mut self.promise {
            promise.is_stored();
        }
        self.id = next.id();
        self.unit = Some(next);
        Ok(())
    }

    /// Replaces the unit by a new one, whose snapshot is newer.
    pub(super) fn renew(&mut self) -> Result<(), Error> {
        let entry = self.entry();
        let next = Box::new(self.unit()?.successor(entry));
        self.leave_table();
        self.id = next.id();
        self.unit = Some(next);
        Ok(())
    }

    /// Stores the task that resumes the run after a partial commit, and the pause after which a
    /// failed rest is retried: none if it is dropped then.
    pub(super) fn is_unfinished(
        &mut self,
        runtime: &Runtime,
        task: Task,
        pause: Option<Duration>,
    ) -> Result<(), Error> {
        let once = self.promised().cloned();
        let unit = self.unit()?;
        let unfinished = Unfinished {
            runtime: runtime.clone(),
            attribution: unit.attribution().clone(),
            task: Some(task),
            pause,
            once,
        };
        let Some(owner) = self.owner() else {
            return Ok(());
        };
        let earlier = mem::replace(&mut owner.progress, Progress::Part(Box::new(unfinished)));
        if let Progress::Part(mut earlier) = earlier {
            earlier.task = None;
        }
        Ok(())
    }

    /// Ends a request that has failed: what it has committed stays and is named, and the rest of it
    /// is given up. Every failure that ends a request after a write passes here: without it, the
    /// rest would be done although the caller received a failure.
    pub async fn fail(&mut self, failure: Failure) -> Failure {
        let _critical = self.critical();
        Box::pin(self.abandon_unfinished()).await;
        self.after_part(failure)
    }

    /// Drops uncommitted work: for good, or until it is retried.
    pub(super) async fn abandon_unfinished(&mut self) {
        let Some(owner) = self.owner() else { return };
        let progress = mem::replace(&mut owner.progress, Progress::Nothing);
        if let Progress::Part(unfinished) = progress {
            unfinished.end().await;
        }
    }

    /// Notes that a part of the work on an entity was committed.
    pub(super) fn has_committed(&mut self, id: EntityId, transaction: TransactionId) {
        if let Some(owner) = self.owner() {
            owner
                .committed
                .get_or_insert_with(|| Box::new((id, transaction)));
        }
    }

    /// The failure of the rest: what was committed stays, and the caller decides.
    fn after_part(&self, failure: Failure) -> Failure {
        let is_named = failure
            .properties()
            .iter()
            .any(|(name, _)| *name == COMMITTED);
        let committed = match &self.role {
            Role::Owner(owner) => owner.committed.as_deref(),
            Role::Guest(_) => None,
        };
        match committed.filter(|_| !is_named) {
            Some((entity, transaction)) => failure
                .with("entityId", entity.to_string())
                .with(COMMITTED, transaction.to_string()),
            None => failure,
        }
    }

    /// Ends a request that was cancelled, with the reason; one that has committed a part is
    /// completed.
    pub(super) async fn cancelled(&self, by: &Initiator) -> Error {
        self.cancel_of(by).cancelled().await;
        match &self.role {
            Role::Guest(guest) if self.transactions.is_over(self.id, guest.level - 1) => {
                Error::TransactionNotFound(self.id)
            }
            Role::Guest(_) | Role::Owner(_) => Error::Cancelled,
        }
    }

    fn cancel_of(&self, by: &Initiator) -> CancellationToken {
        if self.id == self.entry() {
            by.cancel.clone()
        } else {
            CancellationToken::new()
        }
    }

    fn leave_table(&mut self) {
        if let Role::Owner(owner) = &mut self.role
            && mem::take(&mut owner.in_table)
        {
            self.transactions.close(self.id);
        }
    }

    /// The frame that parking opens.
    const fn level(&self) -> usize {
        match &self.role {
            Role::Owner(_) => 0,
            Role::Guest(guest) => guest.level,
        }
    }

    /// The claims of a token for the next attempt of a call.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket {
            transaction: self.id,
            level: self.level(),
            attempt: self.transactions.next_attempt(),
        }
    }

    /// Revokes the tokens of a failed attempt and of calls that were made in it, and cancels the
    /// requests that have joined with them. The attempt's unit has not been taken back yet.
    pub(super) fn end_attempt(&self, ticket: Ticket) {
        self.transactions.revoke(ticket.transaction, ticket.attempt);
        self.transactions
            .end_frames(ticket.transaction, ticket.level);
    }

    /// Has everything committed at once, or in segments again; what was before. The work of a
    /// guest is always committed at once, with that of the owner.
    pub(super) const fn keep_whole(&mut self, is_whole: bool) -> bool {
        match self.owner() {
            Some(owner) => mem::replace(&mut owner.is_whole, is_whole),
            None => true,
        }
    }

    /// Whether a part may be committed before the rest.
    pub(super) const fn may_be_parted(&self) -> bool {
        match &self.role {
            Role::Owner(owner) => !owner.is_whole,
            Role::Guest(_) => false,
        }
    }

    /// Whether the unit belongs to another session.
    pub const fn has_joined(&self) -> bool {
        matches!(self.role, Role::Guest(_))
    }

    /// The unit, unless it is parked.
    pub fn unit(&mut self) -> Result<&mut UnitOfWork, Error> {
        self.unit
            .as_deref_mut()
            .ok_or(Error::TransactionNotFound(self.id))
    }

    /// Lets other requests join the unit until it is taken back, and releases the slot.
    ///
    /// # Errors
    /// If too many calls are waiting for callbacks that made calls of their own.
    pub(super) fn park(&mut self) -> Result<(), Error> {
        if self.level() >= NESTED_CALLS_MAX {
            return Err(Error::NestedTooDeeply);
        }
        self.leave_slot();
        if let Some(unit) = self.unit.take() {
            self.transactions.park(unit);
            if let Some(owner) = self.owner() {
                owner.in_table = true;
            }
        }
        Ok(())
    }

    /// Takes the unit back, after the requests that have joined it meanwhile; those that still work
    /// at `until` are cancelled. It may be dropped and called again.
    pub(super) async fn take_back(
        &mut self,
        by: &Initiator,
        until: Option<tokio::time::Instant>,
    ) -> Result<(), Error> {
        if self.unit.is_none() {
            self.unit = Some(self.unit_back(by, until).await?);
        }
        self.take_slot().await;
        Ok(())
    }

    async fn unit_back(
        &self,
        by: &Initiator,
        until: Option<tokio::time::Instant>,
    ) -> Result<Box<UnitOfWork>, Error> {
        let (id, level) = (self.id, self.level());
        let gone = || Error::TransactionNotFound(id);
        let mut lease = self.transactions.ask_back(id, level)?;
        let time_is_up = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
            // Nothing that is called from here on is in time.
            self.transactions.revoke(id, self.since);
            self.transactions.end_frames(id, level);
            std::future::pending::<()>().await;
        };
        let lease = tokio::select! {
            biased;
            lease = &mut lease => lease.map_err(|_| gone())?,
            error = self.cancelled(by) => return Err(error),
            () = time_is_up => return Err(gone()),
        };
        Ok(lease.take().ok_or_else(gone)?.0)
    }

    /// From here on a commit fails if the assumption does not hold.
    pub fn rest_on(&mut self, assumption: Assumption) -> Result<(), Error> {
        self.unit()?.rest_on(assumption);
        Ok(())
    }

    /// Stores the outcome of the request with its commits.
    pub fn promise(&mut self, promise: Promise) {
        self.promise = Some(promise);
    }

    /// What the request is to do once, if it has an idempotency key.
    pub(super) fn promised(&self) -> Option<&Once> {
        self.promise.as_ref().map(Promise::once)
    }

    /// Notes whether the request has more to do in this session than what it begins now. A run that
    /// is resumed without the rest frees the idempotency key then: the request was not done.
    pub fn has_more(&mut self, has_more: bool) {
        if let Some(promise) = &mut self.promise {
            promise.has_more(has_more);
        }
    }

    pub(super) fn is_partial(&self) -> bool {
        self.promise.as_ref().is_some_and(Promise::is_partial)
    }

    /// Notes an entity that the request is about to write.
    pub(super) fn is_about(&mut self, id: EntityId) {
        if let Some(promise) = &mut self.promise {
            promise.is_about(id);
        }
    }

    /// Like [`Self::finish`], with the answer to store for an idempotency key.
    pub async fn finish_with(
        mut self,
        answer: &str,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        if let Some(promise) = self.promise.take()
            && let Err(failure) = self.remember(&promise, answer)
        {
            return Err(self.fail(failure).await);
        }
        self.finish(cancel).await
    }

    fn remember(&mut self, promise: &Promise, answer: &str) -> Result<(), Failure> {
        self.unit()?.remember(promise.outcome(answer))?;
        Ok(())
    }

    /// Commits the unit if this session owns it; otherwise its owner commits or drops it.
    pub async fn finish(mut self, cancel: &CancellationToken) -> Result<(), Failure> {
        let Some(unit) = self.unit.take() else {
            return Err(Error::TransactionNotFound(self.id).into());
        };
        let owner = match &mut self.role {
            Role::Owner(owner) => owner,
            Role::Guest(guest) => {
                match guest.mark.take() {
                    Some(mark) => self.transactions.hand_in(unit, mark)?,
                    None => self.transactions.put_back(unit),
                }
                return Ok(());
            }
        };
        if mem::take(&mut owner.in_table) {
            self.transactions.close(self.id);
        }
        let cancel = match &owner.progress {
            Progress::Nothing => cancel,
            Progress::Part(_) => &CancellationToken::new(),
        };
        let outcome = unit.commit(cancel).await;
        if let (Ok(_), Progress::Part(unfinished)) = (&outcome, &mut owner.progress) {
            unfinished.task = None;
        }
        match outcome {
            Ok(_) => Ok(()),
            Err(error) => Err(self.fail(error.into()).await),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let unit = self.unit.take();
        match &mut self.role {
            Role::Owner(owner) => {
                let (begun, is_open) = (Instant::now(), owner.in_table || unit.is_some());
                if owner.in_table {
                    self.transactions.close(self.id);
                }
                drop(unit);
                if is_open {
                    Step::Rollback.since(begun);
                }
            }
            Role::Guest(guest) => {
                let mark = guest.mark.take();
                if mark.is_some() {
                    self.transactions.revoke(self.id, self.since);
                }
                match (unit, mark) {
                    (Some(mut unit), mark) => {
                        if let Some(mark) = mark {
                            unit.roll_back_to(&mark);
                            unit.release(mark);
                        }
                        self.transactions.put_back(unit);
                    }
                    (None, Some(mark)) => self.transactions.abandon(self.id, guest.level, mark),
                    (None, None) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, Timestamp};
    use crate::runtime::{RunSettings, testing::runtime_with};

    #[tokio::test]
    async fn an_answer_that_is_too_large_to_be_kept_fails_like_any_commit_after_a_part() {
        let runtime = runtime_with(&ManualClock::default(), RunSettings::DEFAULT).await;
        let by = Initiator::system(&"t".into());
        let mut session = runtime.session(&by, None).await.expect("a session");
        let once = Once {
            key: "k".into(),
            part: 0,
            print: [0; 32],
            expires: Timestamp::from_micros(1),
        };
        session.promise(Promise::new(once, |_, _| String::new()));
        session.has_committed(EntityId::fresh(), TransactionId::fresh());
        let answer = "x".repeat(65 << 20);
        let failure = session.finish_with(&answer, &by.cancel).await;
        let failure = failure.expect_err("too large");
        let mut names = failure.properties().iter().map(|(name, _)| *name);
        assert!(names.any(|name| name == COMMITTED), "{failure:?}");
    }
}
