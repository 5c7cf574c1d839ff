//! Transactions of tasks (`runs.md` §5.3).
//!
//! Each delivery on a stream carries a token. Its transaction is opened when the token is first
//! quoted, and becomes that of the advance that records the answer: what the member wrote is
//! committed with the outcome of the step, or not at all. A token that nobody quotes costs an entry
//! in a table.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use super::{Advance, Arrived, send::parts, starter_of};
use crate::compute::Principal;
use crate::compute::tasks::{End, Reported, TaskSpec};
use crate::entity::Actor;
use crate::error::{Code, Failure};
use crate::id::{Tenant, TransactionId};
use crate::program::Arrival;
use crate::runtime::{Initiator, Runtime, Session, token::Ticket};
use crate::storage::Attribution;

/// The tokens of tasks that are out.
///
/// A mutex, not a task: each delivery and each quoted token looks up once.
#[derive(Debug, Default)]
pub(in crate::runtime) struct TaskTransactions(Mutex<Offers>);

#[derive(Debug, Default)]
struct Offers {
    by_transaction: HashMap<TransactionId, Offer>,
    by_delivery: HashMap<Delivery, TransactionId>,
    /// Those whose answer could not be committed, so that what was written with them is lost, and
    /// what is reported of them.
    lost: HashMap<Delivery, Reported>,
}

type Delivery = (Tenant, Arc<str>, u32);

#[derive(Debug)]
struct Offer {
    delivery: Delivery,
    principal: Principal,
    is_open: bool,
}

impl TaskTransactions {
    fn lock(&self) -> MutexGuard<'_, Offers> {
        self.0.lock()
    }

    /// Takes the transaction of a delivery; whether it was opened.
    fn take(&self, tenant: &Tenant, task: &str, attempt: u32) -> Option<(TransactionId, bool)> {
        let mut offers = self.lock();
        let id = offers
            .by_delivery
            .remove(&(tenant.clone(), task.into(), attempt))?;
        let offer = offers.by_transaction.remove(&id)?;
        Some((id, offer.is_open))
    }

    fn lost(&self, delivery: &Delivery) -> Option<Reported> {
        self.lock().lost.get(delivery).copied()
    }

    fn forget(&self, delivery: &Delivery) {
        self.lock().lost.remove(delivery);
    }
}

/// An answer that is being committed with what was written with it.
struct Committing<'a> {
    offers: &'a TaskTransactions,
    delivery: Delivery,
    /// What is reported of it, if the writes are lost from here on.
    lost: Option<Reported>,
}

impl<'a> Committing<'a> {
    /// The writes are lost, too, if that panics.
    const fn new(offers: &'a TaskTransactions, delivery: Delivery) -> Self {
        Self {
            offers,
            delivery,
            lost: Some(Reported::Conflict),
        }
    }

    fn ended<T>(mut self, ended: &Result<T, Failure>) {
        let failure = ended.as_ref().err();
        self.lost = failure.map(|failure| {
            let is_outage = matches!(
                failure.code(),
                Code::StorageUnavailable | Code::OutcomeUnknown
            );
            if is_outage {
                Reported::Lost
            } else {
                // It may fail each time, and is not repeated for ever.
                Reported::Conflict
            }
        });
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        if let Some(reported) = self.lost {
            let mut offers = self.offers.lock();
            offers.lost.insert(self.delivery.clone(), reported);
        }
    }
}

impl Runtime {
    /// The token of a delivery.
    pub(super) fn task_token(&self, spec: &TaskSpec, attempt: u32) -> Arc<str> {
        let id = TransactionId::fresh();
        let delivery = (spec.tenant.clone(), Arc::clone(&spec.id), attempt);
        let offer = Offer {
            delivery: delivery.clone(),
            principal: spec.principal.clone(),
            is_open: false,
        };
        let mut offers = self.0.task_transactions.lock();
        offers.by_transaction.insert(id, offer);
        offers.by_delivery.insert(delivery, id);
        drop(offers);
        let ticket = Ticket {
            transaction: id,
            level: 0,
            attempt: self.0.transactions.next_attempt(),
        };
        let life = spec.timeout.min(self.0.settings.limits.time);
        self.0.signer.sign(ticket, self.0.clock.now(), life).into()
    }

    /// Opens the transaction of a task, if the ticket is of one that nobody has quoted yet.
    pub(in crate::runtime) fn open_for_task(&self, tenant: &Tenant, ticket: Ticket) {
        let mut offers = self.0.task_transactions.lock();
        let Some(offer) = offers.by_transaction.get_mut(&ticket.transaction) else {
            return;
        };
        if offer.is_open || offer.delivery.0 != *tenant {
            return;
        }
        offer.is_open = true;
        let attribution = Attribution {
            author: offer.principal.actor.clone(),
            executor: Some(Actor::system()),
        };
        let unit = self
            .0
            .storage
            .unit_of(ticket.transaction, tenant, attribution);
        self.0.transactions.park(Box::new(unit));
    }

    /// Discards what was written with the token of a delivery.
    pub(super) fn discard_delivery(&self, tenant: &Tenant, task: &str, attempt: u32) {
        let offers = &self.0.task_transactions;
        offers.forget(&(tenant.clone(), task.into(), attempt));
        if let Some((id, true)) = offers.take(tenant, task, attempt) {
            self.0.transactions.close(id);
        }
    }

    /// Records an answer in the transaction that the member wrote in; none if it did not.
    pub(super) async fn end_in_transaction(
        &self,
        tenant: &Tenant,
        task: &str,
        end: &End,
    ) -> Result<Option<Reported>, Failure> {
        let (Some((run, ordinal)), true) = (parts(task), end.keeps_writes) else {
            self.discard_delivery(tenant, task, end.attempt);
            return Ok(None);
        };
        let delivery = (tenant.clone(), task.into(), end.attempt);
        let offers = &self.0.task_transactions;
        // A commit that fails costs what the member has written.
        self.storage().check_takes_writes()?;
        if let Some(reported) = offers.lost(&delivery) {
            // Without its writes the answer does not count: the task is done again.
            let run = self.find_run(tenant, run).await?;
            let read = self.read_run(tenant, run).await?;
            offers.forget(&delivery);
            let out = read.state.run.outstanding();
            let is_out = out.is_some_and(|task| task.ordinal == ordinal);
            return Ok(is_out.then_some(reported));
        }
        let Some((id, true)) = offers.take(tenant, task, end.attempt) else {
            return Ok(None);
        };
        let committing = Committing::new(offers, delivery);
        let session = Session::of_parked(Arc::clone(&self.0.transactions), id);
        let ended = self.end_with(session, tenant, run, ordinal, end).await;
        committing.ended(&ended);
        ended
    }

    /// Records an answer in the transaction of a session.
    async fn end_with(
        &self,
        mut session: Session,
        tenant: &Tenant,
        run: &str,
        ordinal: u64,
        end: &End,
    ) -> Result<Option<Reported>, Failure> {
        // Requests of the member that are still working may not hold up its answer for ever.
        let until = tokio::time::Instant::now().checked_add(self.0.settings.limits.time);
        session.take_back(&Initiator::system(tenant), until).await?;
        session.is_try(self.tries(tenant, run).begin().await);
        let run = self.find_run(tenant, run).await?;
        let read = self.read_run(tenant, run).await?;
        let by = starter_of(tenant, &read.state)?;
        let arrival = Arrival::Answered {
            ordinal,
            answer: end.answer.clone(),
        };
        let advance = Advance {
            attempt: end.attempt,
            read: Some(read),
            ..Advance::of(run, arrival)
        };
        match self.arrive_in(session, &by, advance).await {
            Ok(arrived) if arrived.is_taken => Ok(Some(Reported::Applied)),
            // Too late: what was written is gone with its session, and the answer is recorded.
            Ok(_) => Ok(None),
            Err(failure) if failure.code() == Code::Conflict => Ok(Some(Reported::Conflict)),
            Err(failure) => Err(failure),
        }
    }

    /// Advances a run in a session, and commits if what arrived is taken.
    async fn arrive_in(
        &self,
        mut session: Session,
        by: &Initiator,
        advance: Advance,
    ) -> Result<Arrived, Failure> {
        let mut arrived = self.advance_in(&mut session, by, advance).await?;
        if arrived.is_taken {
            session.finish(&by.cancel).await?;
            self.after_advance(&by.tenant, &mut arrived);
        }
        Ok(arrived)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn writes_are_lost_unless_their_commit_succeeds() {
        let delivery: Delivery = ("t".into(), "run.1".into(), 1);
        let lost = |commit: &dyn Fn() -> Result<(), Failure>| {
            let offers = TaskTransactions::default();
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let committing = Committing::new(&offers, delivery.clone());
                committing.ended(&commit());
            }));
            offers.lost(&delivery)
        };
        let failure = |code| Err(Failure::new(code, "it failed"));
        assert_eq!(lost(&|| Ok(())), None);
        assert_eq!(lost(&|| panic!("a fault")), Some(Reported::Conflict));
        let conflict = || failure(Code::Conflict);
        assert_eq!(lost(&conflict), Some(Reported::Conflict));
        let outage = || failure(Code::StorageUnavailable);
        assert_eq!(lost(&outage), Some(Reported::Lost));
    }
}
