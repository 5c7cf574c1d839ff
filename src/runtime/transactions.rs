//! The table of open units: where a unit waits while a member is called, and where the member's
//! requests find it.
//!
//! One request works on a unit at a time. Parking opens a *frame*. A request joins in the frame of
//! the call whose token it carries, and may park the unit again for a call of its own, which opens
//! another frame on top. Only the top frame can be joined, and its owner receives the unit back
//! when no request that joined in it is still working. So joined requests are serialized, calls
//! nest, a failing request is rolled back to its mark, and no lock is held across an await.
//!
//! A call that fails ends its frame and those above it: requests that joined there are cancelled,
//! so that the call ends within its own limits, and none of their work is acknowledged.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Error, token::Ticket};
use crate::id::{Tenant, TransactionId};
use crate::storage::{Mark, UnitOfWork};

/// How many requests may wait for one unit.
const WAITING_MAX: usize = 1_024;

/// Every open unit that has been parked.
///
/// A mutex, not a task: each call to a member parks and takes back, and two hops through a task
/// would double the cost of the engine. It is held for a look-up only.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    open: Mutex<HashMap<TransactionId, Open>>,
    attempts: AtomicU64,
}

#[derive(Debug)]
struct Open {
    tenant: Tenant,
    /// The unit while no request works on it.
    parked: Option<Box<UnitOfWork>>,
    frames: Vec<Frame>,
    waiting: VecDeque<Waiting>,
    /// The attempts whose tokens are revoked.
    revoked: Vec<Range<u64>>,
}

#[derive(Debug, Default)]
struct Frame {
    /// Cancels the request that joined in this frame and is still working.
    guest: Option<CancellationToken>,
    /// Whether its call has failed: what is still done in it is rolled back.
    is_over: bool,
    /// Set when the frame's owner has given up: its work is rolled back to the mark.
    abandoned: Option<Mark>,
    /// Shared by the requests that were announced and have not been answered.
    announced: Option<Arc<()>>,
}

/// A request that is going to join, for which the owner of the frame waits until this is dropped.
#[derive(Debug)]
pub struct Announced {
    transactions: Arc<Transactions>,
    transaction: TransactionId,
    /// None once it counts no longer.
    count: Option<Arc<()>>,
}

impl Drop for Announced {
    fn drop(&mut self) {
        let mut open = self.transactions.lock();
        self.count = None;
        if let Some(entry) = open.get_mut(&self.transaction) {
            entry.hand_on(&self.transactions);
        }
    }
}

#[derive(Debug)]
struct Waiting {
    who: Who,
    /// Cancels the waiting request once it has joined; nothing for an owner.
    cancel: Option<CancellationToken>,
    hand_over: oneshot::Sender<Lease>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// A request that joins in the frame of that number.
    Joining { level: usize, attempt: u64 },
    /// The owner of the frame of that number.
    Owner(usize),
}

/// A unit that was handed over. Dropping it puts the unit back.
#[derive(Debug)]
pub(super) struct Lease {
    transactions: Arc<Transactions>,
    unit: Option<Box<UnitOfWork>>,
    who: Who,
    /// The frame that the holder opens if it parks.
    pub(super) level: usize,
}

impl Lease {
    /// The unit for the waiting request.
    pub(super) fn take(mut self) -> Option<(Box<UnitOfWork>, usize)> {
        self.unit.take().map(|unit| (unit, self.level))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // It was not taken: the requester is gone.
        if let Some(unit) = self.unit.take() {
            self.transactions.put_back_untaken(unit, self.who);
        }
    }
}

impl Transactions {
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TransactionId, Open>> {
        self.open.lock()
    }

    /// Parks a unit in a new frame; from now on requests may join it.
    pub(super) fn park(self: &Arc<Self>, unit: Box<UnitOfWork>) {
        let mut open = self.lock();
        let entry = open.entry(unit.id()).or_insert_with(|| Open {
            tenant: unit.tenant().clone(),
            parked: None,
            frames: Vec::new(),
            waiting: VecDeque::new(),
            revoked: Vec::new(),
        });
        entry.frames.push(Frame::default());
        entry.parked = Some(unit);
        entry.hand_on(self);
    }

    /// A number for an attempt of a call; later attempts have greater numbers.
    pub(super) fn next_attempt(&self) -> u64 {
        self.attempts.fetch_add(1, Ordering::Relaxed)
    }

    /// Revokes the attempts of a transaction from that number on: they have failed, and requests
    /// with their tokens are rejected.
    pub(super) fn revoke(&self, id: TransactionId, first: u64) {
        let mut open = self.lock();
        if let Some(entry) = open.get_mut(&id) {
            let over = first..self.attempts.load(Ordering::Relaxed);
            entry.waiting.retain(|waiting| match waiting.who {
                Who::Joining { attempt, .. } => !over.contains(&attempt),
                Who::Owner(_) => true,
            });
            entry.revoked.push(over);
        }
    }

    /// Checks whether a request of that tenant may join.
    pub(super) fn may_join(&self, tenant: &Tenant, ticket: Ticket) -> Result<(), Error> {
        let open = self.lock();
        let entry = open.get(&ticket.transaction);
        let entry = entry.ok_or(Error::TransactionNotFound(ticket.transaction))?;
        entry.admits(tenant, ticket)
    }

    /// Announces a request that is going to join; none if it may not, or if the owner of the frame
    /// has requested its unit already.
    pub(super) fn announce(self: &Arc<Self>, tenant: &Tenant, ticket: Ticket) -> Option<Announced> {
        let mut open = self.lock();
        let entry = open.get_mut(&ticket.transaction)?;
        entry.admits(tenant, ticket).ok()?;
        let owner = Who::Owner(ticket.level);
        if entry.waiting.iter().any(|waiting| waiting.who == owner) {
            return None;
        }
        let frame = entry.frames.get_mut(ticket.level)?;
        let count = frame.announced.get_or_insert_default();
        Some(Announced {
            transactions: Arc::clone(self),
            transaction: ticket.transaction,
            count: Some(Arc::clone(count)),
        })
    }

    /// Requests the unit for a request of that tenant, which joins in a frame.
    pub(super) fn ask_to_join(
        self: &Arc<Self>,
        tenant: &Tenant,
        ticket: Ticket,
        cancel: &CancellationToken,
    ) -> Result<oneshot::Receiver<Lease>, Error> {
        let Ticket {
            transaction: id,
            level,
            attempt,
        } = ticket;
        let mut open = self.lock();
        let entry = open.get_mut(&id).ok_or(Error::TransactionNotFound(id))?;
        entry.admits(tenant, ticket)?;
        entry
            .waiting
            .retain(|waiting| !waiting.hand_over.is_closed());
        if entry.waiting.len() >= WAITING_MAX {
            return Err(Error::TransactionBusy);
        }
        let who = Who::Joining { level, attempt };
        Ok(entry.ask(self, who, Some(cancel.clone())))
    }

    /// Requests the unit for the owner of a frame.
    pub(super) fn ask_back(
        self: &Arc<Self>,
        id: TransactionId,
        level: usize,
    ) -> Result<oneshot::Receiver<Lease>, Error> {
        let mut open = self.lock();
        let entry = open.get_mut(&id).ok_or(Error::TransactionNotFound(id))?;
        Ok(entry.ask(self, Who::Owner(level), None))
    }

    /// Returns the unit after a joined request has succeeded. If the call in which it joined has
    /// failed meanwhile, its work since `mark` is rolled back, and it has failed, too.
    pub(super) fn hand_in(
        self: &Arc<Self>,
        mut unit: Box<UnitOfWork>,
        mark: Mark,
    ) -> Result<(), Error> {
        let id = unit.id();
        let mut open = self.lock();
        let entry = open.get_mut(&id).ok_or(Error::TransactionNotFound(id))?;
        let is_over = entry.frames.last().is_none_or(|frame| frame.is_over);
        if is_over {
            unit.roll_back_to(&mark);
        }
        unit.release(mark);
        entry.put_back(self, unit);
        if is_over {
            return Err(Error::TransactionNotFound(id));
        }
        Ok(())
    }

    /// Returns the unit after a joined request has failed, which has rolled back its work.
    pub(super) fn put_back(self: &Arc<Self>, unit: Box<UnitOfWork>) {
        let mut open = self.lock();
        // If the entry is gone, so are the transaction and the unit.
        if let Some(entry) = open.get_mut(&unit.id()) {
            entry.put_back(self, unit);
        }
    }

    /// The call that opened a frame has failed, or has no time left: the requests that joined in
    /// it, and in frames above it, are cancelled.
    pub(super) fn end_frames(&self, id: TransactionId, level: usize) {
        let mut open = self.lock();
        let guests = open.get_mut(&id).map(|entry| entry.end_frames(level));
        drop(open);
        cancel_all(guests.unwrap_or_default());
    }

    /// Whether the call is over that opened the frame of that number.
    pub(super) fn is_over(&self, id: TransactionId, level: usize) -> bool {
        let open = self.lock();
        let frame = open.get(&id).and_then(|entry| entry.frames.get(level));
        frame.is_none_or(|frame| frame.is_over)
    }

    fn put_back_untaken(self: &Arc<Self>, unit: Box<UnitOfWork>, who: Who) {
        let mut open = self.lock();
        if let Some(entry) = open.get_mut(&unit.id()) {
            entry.take_from(who, unit);
            entry.hand_on(self);
        }
    }

    /// The owner of a frame gives up: its work is rolled back to `mark` as soon as no request that
    /// joined in it is working.
    pub(super) fn abandon(self: &Arc<Self>, id: TransactionId, level: usize, mark: Mark) {
        let mut guests = Vec::new();
        let mut open = self.lock();
        if let Some(entry) = open.get_mut(&id) {
            guests = entry.end_frames(level);
            if let Some(frame) = entry.frames.get_mut(level) {
                frame.abandoned = Some(mark);
            }
            entry.hand_on(self);
        }
        drop(open);
        cancel_all(guests);
    }

    /// The transaction has ended; waiting requests fail with an unknown transaction, and working
    /// ones are cancelled.
    pub(super) fn close(&self, id: TransactionId) {
        let ended = self.lock().remove(&id);
        if let Some(mut ended) = ended {
            cancel_all(ended.end_frames(0));
        }
    }
}

/// Cancels requests. The table is not locked meanwhile, which they need as soon as they wake.
fn cancel_all(guests: Vec<CancellationToken>) {
    for guest in guests {
        guest.cancel();
    }
}

impl Frame {
    /// Whether no request works in it or is about to join it.
    fn may_be_taken_back(&self) -> bool {
        let is_awaited = |announced: &Arc<()>| Arc::strong_count(announced) > 1;
        let awaits = !self.is_over && self.announced.as_ref().is_some_and(is_awaited);
        self.guest.is_none() && !awaits
    }
}

impl Open {
    /// Checks whether a request of that tenant may join with that ticket.
    fn admits(&self, tenant: &Tenant, ticket: Ticket) -> Result<(), Error> {
        if self.tenant != *tenant {
            return Err(Error::ForeignTransaction);
        }
        if self
            .revoked
            .iter()
            .any(|over| over.contains(&ticket.attempt))
        {
            return Err(Error::TransactionNotFound(ticket.transaction));
        }
        if self
            .frames
            .get(ticket.level)
            .is_some_and(|frame| frame.is_over)
        {
            return Err(Error::TransactionNotFound(ticket.transaction));
        }
        Ok(())
    }

    fn ask(
        &mut self,
        transactions: &Arc<Transactions>,
        who: Who,
        cancel: Option<CancellationToken>,
    ) -> oneshot::Receiver<Lease> {
        let (hand_over, lease) = oneshot::channel();
        self.waiting.push_back(Waiting {
            who,
            cancel,
            hand_over,
        });
        self.hand_on(transactions);
        lease
    }

    /// Ends the frames from that one on; the requests that work in them. Those that wait to join
    /// them are rejected.
    fn end_frames(&mut self, level: usize) -> Vec<CancellationToken> {
        self.waiting.retain(|waiting| match waiting.who {
            Who::Joining { level: of, .. } => of < level,
            Who::Owner(_) => true,
        });
        let frames = self.frames.get_mut(level..).unwrap_or_default();
        let ended = frames.iter_mut().filter_map(|frame| {
            frame.is_over = true;
            frame.guest.clone()
        });
        ended.collect()
    }

    /// A request that joined in the top frame has left.
    fn leave(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.guest = None;
        }
    }

    fn put_back(&mut self, transactions: &Arc<Transactions>, unit: Box<UnitOfWork>) {
        self.leave();
        self.parked = Some(unit);
        self.hand_on(transactions);
    }

    /// Hands a free unit to the first request that may have it.
    fn hand_on(&mut self, transactions: &Arc<Transactions>) {
        self.clear_abandoned();
        while let Some(unit) = self.parked.take() {
            let Some(next) = self
                .waiting
                .iter()
                .position(|waiting| self.may_have(waiting.who))
            else {
                self.parked = Some(unit);
                return;
            };
            let Some(waiting) = self.waiting.remove(next) else {
                return;
            };
            let Waiting {
                who,
                cancel,
                hand_over,
            } = waiting;
            match who {
                Who::Owner(_) => {
                    self.frames.pop();
                }
                Who::Joining { .. } => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.guest = cancel;
                    }
                }
            }
            let lease = Lease {
                transactions: Arc::clone(transactions),
                unit: Some(unit),
                who,
                level: self.frames.len(),
            };
            let Err(mut refused) = hand_over.send(lease) else {
                return;
            };
            if let Some(unit) = refused.unit.take() {
                self.take_from(who, unit);
            }
        }
    }

    /// Takes the unit back from a requester that is gone, as if it had never been handed over.
    fn take_from(&mut self, who: Who, unit: Box<UnitOfWork>) {
        match who {
            Who::Owner(_) => self.frames.push(Frame::default()),
            Who::Joining { .. } => self.leave(),
        }
        self.parked = Some(unit);
    }

    fn may_have(&self, who: Who) -> bool {
        match who {
            Who::Joining { level, .. } => level + 1 == self.frames.len(),
            Who::Owner(level) => {
                level + 1 == self.frames.len() && self.frames[level].may_be_taken_back()
            }
        }
    }

    /// Rolls back the work of abandoned frames, once the unit is available.
    fn clear_abandoned(&mut self) {
        while let Some(unit) = &mut self.parked {
            let is_over = |frame: &Frame| frame.guest.is_none() && frame.abandoned.is_some();
            if !self.frames.last().is_some_and(is_over) {
                return;
            }
            let level = self.frames.len() - 1;
            if let Some(mark) = self.frames.pop().and_then(|frame| frame.abandoned) {
                unit.roll_back_to(&mark);
                unit.release(mark);
            }
            self.waiting
                .retain(|waiting| waiting.who != Who::Owner(level));
            // The frame's owner had itself joined in the frame below.
            self.leave();
        }
    }
}
