//! Events of state machines: of rows of foreign tables, and of entities (`orchestration.md` 2.6).
//!
//! The state is read, the guard is evaluated, the action is called and the state is written in one
//! transaction: that of the foreign database, or that of the entity.

mod act;
mod acted;
mod native;
mod table;

use std::sync::Arc;

use crate::connector::{CallFailed, Config, Connector};
use crate::error::{Code, Failure};
use crate::expr;
use crate::id::Tenant;
use crate::registry::bundle::{Machine, MachineEvent};

use super::{Initiator, Runtime};

pub(super) use acted::{Acted, Acting};
pub use native::{EntityEvent, Native};
pub(super) use native::{machine_called, with_status};

/// An event for a row of a table, or for an entity.
#[derive(Debug, Clone)]
pub struct Fire {
    pub machine: Arc<Machine>,
    pub namespace: Arc<str>,
    /// The table, or the model.
    pub entity: Box<str>,
    /// Of the row or the entity: JSON, a text or a number.
    pub id: Box<str>,
    pub event: Box<str>,
    /// A JSON object: what guards and actions read as `input`.
    pub data: Arc<str>,
}

/// What an event has done.
#[derive(Debug, Clone)]
pub struct Fired {
    pub previous: String,
    pub current: String,
    /// The result of the action: JSON.
    pub result: Option<Arc<str>>,
}

impl Fire {
    /// What the event leads to from a state.
    fn way(&self, state: &str) -> Result<&MachineEvent, Failure> {
        let machine = &self.machine;
        let Some(known) = machine.state(state) else {
            let message = format!(
                "the state machine `{}` has no state `{state}`, which {} {} is in; add the state to \
                 the machine, or correct the state",
                machine.name, self.entity, self.id
            );
            return Err(Failure::new(Code::WorkflowFailed, message));
        };
        if known.is_final {
            let message = format!("the state `{state}` is final, so no event leads out of it");
            return Err(Failure::new(Code::FinalState, message).with("state", state));
        }
        let event = known.events.iter().find(|event| event.name == *self.event);
        event.ok_or_else(|| {
            let valid: Vec<&str> = known.events.iter().map(|event| &*event.name).collect();
            let message = format!(
                "the state `{state}` has no event `{}`; {}",
                self.event,
                if valid.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("it has {}", valid.join(", "))
                }
            );
            Failure::new(Code::TransitionNotFound, message)
                .with("state", state)
                .with("validEvents", valid)
        })
    }
}

/// Why an event has failed whose call of a connector has.
fn failure_of(failed: CallFailed) -> Failure {
    match failed {
        CallFailed::Failed { message, .. } | CallFailed::Unusable { message } => {
            Failure::new(Code::WorkflowFailed, message)
        }
        CallFailed::Unavailable { message } | CallFailed::Lost { message } => {
            Failure::new(Code::ConnectorUnavailable, message)
        }
        CallFailed::TimedOut(_) | CallFailed::NothingDone(_) => {
            Failure::new(Code::ConnectorUnavailable, failed.to_string())
        }
        CallFailed::Cancelled | CallFailed::NotSent => Failure::cancelled(),
    }
}

impl Runtime {
    /// Checks that a guard holds for the data of an event.
    async fn check_guard(
        &self,
        by: &Initiator,
        event: &str,
        guard: Option<&str>,
        data: &Arc<str>,
    ) -> Result<(), Failure> {
        let Some(guard) = guard else {
            return Ok(());
        };
        let (text, data) = (guard.to_owned(), Arc::clone(data));
        let holds = self.evaluate(&by.tenant, move || expr::holds(&text, &data));
        match holds.await? {
            Ok(true) => Ok(()),
            Ok(false) => {
                let message = format!("the guard of the event `{event}` does not hold: {guard}");
                Err(Failure::new(Code::GuardRejected, message).with("guard", guard))
            }
            Err(error) => {
                let message =
                    format!("the guard of the event `{event}` cannot be evaluated: {error}");
                Err(Failure::new(Code::GuardError, message).with("guard", guard))
            }
        }
    }

    /// The database whose rows a machine moves; none if it moves entities.
    pub async fn database_of(
        &self,
        tenant: &Tenant,
        namespace: &str,
        machine: &Machine,
        connector: Option<&str>,
    ) -> Result<Option<Arc<Connector>>, Failure> {
        let Some(name) = connector else {
            return Ok(None);
        };
        let registry = &self.0.registry;
        let found = registry.connector(tenant, namespace, &machine.digest, name);
        let found = found.await?;
        Ok(found.filter(|connector| matches!(connector.config, Config::Database(_))))
    }
}
