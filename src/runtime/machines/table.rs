//! Machines whose states are a column of a table: one transaction of its database.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{Fire, Fired, acted::key_of_event, failure_of};
use crate::connector::{CallFailed, Connector, RowCall, RowTransaction};
use crate::error::{Code, Failure};
use crate::program::Call;
use crate::runtime::{Initiator, Runtime, apart::compute};

impl Runtime {
    /// Fires an event for a row. The row is locked until its state is written, so that events for
    /// it happen one after the other.
    pub async fn fire_row(
        &self,
        by: &Initiator,
        fire: &Fire,
        database: &Connector,
    ) -> Result<Fired, Failure> {
        let limit = self.limit_of(database);
        let call = RowCall {
            tenant: &by.tenant,
            connector: database,
            table: &fire.entity,
            id: &fire.id,
            timeout: limit,
            cancel: &by.cancel,
        };
        let row = self.0.calls.connectors().row(call).await;
        let mut row = row.map_err(failure_of)?;
        if row.row().is_none() {
            let message = format!(
                "the table {} has no row with the id {}",
                fire.entity, fire.id
            );
            return Err(Failure::new(Code::EntityNotFound, message));
        }
        let previous = row.status();
        let previous = previous.unwrap_or_else(|| fire.machine.initial.clone());
        let event = fire.way(&previous)?;
        let guard = event.guard.as_deref();
        self.check_guard(by, &event.name, guard, &fire.data).await?;
        let result = match &event.action {
            Some(action) => Some(
                self.act_for_row(by, fire, action, database, &mut row)
                    .await?,
            ),
            None => None,
        };
        let finished = within(limit, &by.cancel, row.finish(&event.to)).await;
        finished.map_err(failure_of)?;
        Ok(Fired {
            previous,
            current: event.to.clone(),
            result,
        })
    }

    /// Does an action: in the transaction of the row, if it is one of the same database.
    async fn act_for_row(
        &self,
        by: &Initiator,
        fire: &Fire,
        call: &Call,
        database: &Connector,
        row: &mut RowTransaction,
    ) -> Result<Arc<str>, Failure> {
        let action = self.action(by, fire, call, key_of_event()).await?;
        if action.connector.key != database.key {
            return self.act(by, fire, &action).await;
        }
        let called = row.call(&action.request, &compute);
        let called = within(self.limit_of(database), &by.cancel, called).await;
        called.map_err(failure_of)
    }

    /// How long a statement may take.
    fn limit_of(&self, database: &Connector) -> Duration {
        let own = database.config.timeout();
        own.unwrap_or(self.0.settings.runs.connectors_timeout)
    }
}

/// Waits for a database, until a time limit, or until the request is cancelled.
async fn within<T>(
    limit: Duration,
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, CallFailed>>,
) -> Result<T, CallFailed> {
    tokio::select! {
        biased;
        done = tokio::time::timeout(limit, work) => done.unwrap_or(Err(CallFailed::TimedOut(limit))),
        () = cancel.cancelled() => Err(CallFailed::Cancelled),
    }
}
