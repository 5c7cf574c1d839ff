//! Events for one entity happen one after the other, so that no action is done for an event that
//! then comes too late.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::error::Failure;
use crate::id::{EntityId, Tenant};
use crate::runtime::Error;

/// The entities for which events are in flight.
///
/// A mutex, not a task: a look-up at the beginning and one at the end of an event.
#[derive(Debug, Clone, Default)]
pub(in crate::runtime) struct Turns(Arc<Mutex<HashMap<Name, Line>>>);

type Name = (Tenant, EntityId);

#[derive(Debug)]
struct Line {
    /// Whose turn it is, and those that wait.
    users: usize,
    turn: Arc<Semaphore>,
}

/// The right to fire an event for an entity. Dropping it lets the next one have its turn.
#[derive(Debug)]
pub struct Turn {
    turns: Turns,
    name: Name,
    permit: Option<OwnedSemaphorePermit>,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of an entity.
    pub(super) async fn take(
        &self,
        tenant: &Tenant,
        entity: EntityId,
        cancel: &CancellationToken,
    ) -> Result<Turn, Failure> {
        let name = (tenant.clone(), entity);
        let line = {
            let mut lines = self.lock();
            let line = lines.entry(name.clone()).or_insert_with(|| Line {
                users: 0,
                turn: Arc::new(Semaphore::new(1)),
            });
            line.users += 1;
            Arc::clone(&line.turn)
        };
        let mut turn = Turn {
            turns: self.clone(),
            name,
            permit: None,
        };
        let permit = cancel.run_until_cancelled(line.acquire_owned()).await;
        // It is never closed.
        turn.permit = permit.ok_or(Error::Cancelled)?.ok();
        Ok(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lines = self.turns.lock();
        self.permit = None;
        if let Some(line) = lines.get_mut(&self.name) {
            line.users -= 1;
            if line.users == 0 {
                lines.remove(&self.name);
            }
        }
    }
}
