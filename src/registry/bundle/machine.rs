//! State machines as they are stored.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    convert::call,
    stored::{machine_key, read},
};
use crate::dialect::saga;
use crate::id::Tenant;
use crate::program::Call;
use crate::registry::{Error, Registry};
use crate::storage::RecordKind;

/// A state machine of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub name: String,
    pub bundle: Arc<str>,
    /// Names the connectors of the bundle.
    pub digest: Arc<str>,
    pub initial: String,
    pub states: Vec<MachineState>,
    /// What fires its events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<MachineFlow>,
}

/// A flow that fires events of a state machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFlow {
    /// The table or model, unless it depends on the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// None: the machine is one of entities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connector: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineState {
    pub name: String,
    pub is_final: bool,
    pub events: Vec<MachineEvent>,
}

/// What leads from one state to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineEvent {
    pub name: String,
    pub to: String,
    /// A condition over `input`, in CEL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Call>,
}

impl Machine {
    pub(super) fn of(
        machine: &saga::Machine,
        flows: &[saga::Flow],
        bundle: &str,
        digest: &str,
    ) -> Self {
        let event = |event: &saga::Event| MachineEvent {
            name: event.name.clone(),
            to: event.to.clone(),
            guard: event.guard.clone(),
            action: event.action.as_ref().map(call),
        };
        let state = |state: &saga::State| MachineState {
            name: state.name.clone(),
            is_final: state.is_final,
            events: state.events.iter().map(event).collect(),
        };
        Self {
            name: machine.name.clone(),
            bundle: bundle.into(),
            digest: digest.into(),
            initial: machine.initial.clone(),
            states: machine.states.iter().map(state).collect(),
            flows: MachineFlow::of(machine, flows).collect(),
        }
    }

    /// The connector of the first flow that fires its events for a table or model, or else for any.
    pub fn connector_of(&self, entity: &str) -> Option<&str> {
        let mut flows = self.flows.iter();
        let flow = flows.find(|flow| flow.entity.as_deref() == Some(entity));
        let flow = flow.or_else(|| self.flows.first());
        flow?.connector.as_deref()
    }

    /// Whether its flows leave a table of a connector to callers: one of them names it or leaves it
    /// to the request, or there are none.
    pub fn is_fired_for(&self, connector: &str, table: &str) -> bool {
        let mut flows = self.flows.iter();
        self.flows.is_empty()
            || flows.any(|flow| {
                let is_named = |entity: &String| entity == table;
                flow.connector.as_deref() == Some(connector)
                    && flow.entity.as_ref().is_none_or(is_named)
            })
    }

    /// A state by its name.
    pub fn state(&self, name: &str) -> Option<&MachineState> {
        self.states.iter().find(|state| state.name == name)
    }
}

impl MachineFlow {
    pub(super) fn of<'a>(
        machine: &'a saga::Machine,
        flows: &'a [saga::Flow],
    ) -> impl Iterator<Item = Self> + 'a {
        let of_machine = flows.iter().map(|flow| &flow.transition);
        let of_machine = of_machine.filter(|fires| fires.machine == machine.name);
        of_machine.map(|fires| Self {
            entity: fires.entity.text(),
            connector: fires.connector.clone(),
        })
    }
}

impl Registry {
    /// A state machine by its name.
    pub async fn machine(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Machine>, Error> {
        let key = machine_key(namespace, name);
        let record = self.0.storage.record(tenant, &key).await?;
        record.map(|record| read("machine", &record)).transpose()
    }

    /// The state machines of a namespace, by name: those after one, `limit` at most, and whether
    /// there are more.
    pub async fn machines(
        &self,
        tenant: &Tenant,
        namespace: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Machine>, bool), Error> {
        let storage = &self.0.storage;
        let page = storage.records(tenant, RecordKind::Machine, namespace, after, limit + 1);
        let page = page.await?;
        let machines = page.iter().take(limit);
        let machines = machines.map(|record| read("machine", record));
        Ok((machines.collect::<Result<_, _>>()?, page.len() > limit))
    }
}
