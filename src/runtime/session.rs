//! One request at work on a unit.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Error, token::Ticket, transactions::Transactions};
use crate::error::Failure;
use crate::id::{Tenant, TransactionId};
use crate::storage::{self, Mark, UnitOfWork};

/// A request at work on a unit, its own or one it joined.
///
/// Dropping a session undoes what the request did: its own unit is gone, and one that it joined
/// goes back, rolled back to where the request began.
#[derive(Debug)]
pub struct Session {
    transactions: Arc<Transactions>,
    id: TransactionId,
    /// None while it is parked.
    unit: Option<UnitOfWork>,
    role: Role,
    /// The frame that parking opens.
    level: usize,
}

#[derive(Debug)]
enum Role {
    /// The unit is ours, and in the table once it has been parked.
    Owner { in_table: bool },
    /// The unit is someone else's; ours is what came after the mark.
    Joined(Option<Mark>),
}

impl Session {
    pub(super) const fn own(transactions: Arc<Transactions>, unit: UnitOfWork) -> Self {
        Self {
            transactions,
            id: unit.id(),
            unit: Some(unit),
            role: Role::Owner { in_table: false },
            level: 0,
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
            .ask_to_join(id, tenant, ticket.level)?
            .await
            .map_err(|_| Error::TransactionNotFound(id))?;
        let (mut unit, level) = lease.take().ok_or(Error::TransactionNotFound(id))?;
        let mark = unit.mark();
        Ok(Self {
            transactions,
            id,
            unit: Some(unit),
            role: Role::Joined(Some(mark)),
            level,
        })
    }

    pub const fn id(&self) -> TransactionId {
        self.id
    }

    /// What a token must say to join in the call that is about to be made.
    pub(super) const fn ticket(&self) -> Ticket {
        Ticket {
            transaction: self.id,
            level: self.level,
        }
    }

    /// Whether the unit is someone else's.
    pub const fn has_joined(&self) -> bool {
        matches!(self.role, Role::Joined(_))
    }

    /// The unit, which is here unless it is parked.
    pub fn unit(&mut self) -> Result<&mut UnitOfWork, Error> {
        self.unit
            .as_mut()
            .ok_or(Error::TransactionNotFound(self.id))
    }

    /// Lets others join the unit until it is taken back.
    pub(super) fn park(&mut self) {
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
        Ok(())
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
                unit.commit(cancel)
                    .await
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

impl Drop for Session {
    fn drop(&mut self) {
        match (&mut self.role, self.unit.take()) {
            (Role::Owner { in_table: true }, _) => self.transactions.close(self.id),
            (Role::Owner { in_table: false }, _) => {}
            (Role::Joined(mark), Some(mut unit)) => {
                if let Some(mark) = mark.take() {
                    unit.roll_back_to(&mark);
                    unit.release(mark);
                }
                self.transactions.put_back(unit);
            }
            (Role::Joined(mark), None) => {
                if let Some(mark) = mark.take() {
                    self.transactions.abandon(self.id, self.level, mark);
                }
            }
        }
    }
}
