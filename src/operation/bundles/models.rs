//! What the models of a tenant say of a bundle.

use crate::dialect::saga::Bundle;
use crate::error::Failure;
use crate::id::Tenant;
use crate::operation::Services;
use crate::registry::bundle::{CallOnModel, NewBundle, OfEntities};
use crate::storage::Definitions;
use crate::workflow::Workflow;

/// Warns of models that are not there yet, and of transitions that no workflow of theirs has.
pub(super) async fn note_models(
    services: &Services,
    tenant: &Tenant,
    native: &[OfEntities],
    new: &mut NewBundle,
) -> Result<(), Failure> {
    let storage = services.runtime.storage();
    for one in native {
        if storage.definitions(tenant, &one.model).await?.is_some() {
            continue;
        }
        let message = format!(
            "the state machine {} is one of entities, and there is no model {} yet; it gets its \
             workflow with the first event after the model is imported",
            one.machine, one.entity
        );
        new.findings.warning("S304", &one.location, message);
    }
    let calls: Vec<_> = new.calls_on_models().collect();
    for call in calls {
        let definitions = storage.definitions(tenant, &call.model).await?;
        let (name, version) = (&call.model.name, call.model.version);
        let message = match (definitions, &call.transition) {
            (None, _) => format!(
                "there is no model {name}/{version} yet, and the call fails until it is imported; \
                 correct the target if another model is meant"
            ),
            (Some(known), Some(transition))
                if !has_transition(&known, transition)
                    && !brings_transition(new.bundle(), native, &call, transition) =>
            {
                format!(
                    "no workflow of the model {name}/{version} has the transition \"{transition}\", \
                     and the call fails; correct the name, or import a workflow that has it"
                )
            }
            (Some(_), _) => continue,
        };
        new.findings.warning("S304", &call.location, message);
    }
    Ok(())
}

/// Whether an entity of a model may have a transition.
fn has_transition(definitions: &Definitions, transition: &str) -> bool {
    let own = definitions.workflows.entries.iter();
    let own = own.map(|entry| entry.workflow.clone());
    let mut all = own.chain([Workflow::built_in()]);
    all.any(|workflow| {
        let mut transitions = workflow
            .states
            .values()
            .flat_map(|state| &state.transitions);
        transitions.any(|known| known.name.as_str() == transition)
    })
}

/// Whether a state machine of the bundle has a transition as an event, and becomes a workflow of
/// the model.
fn brings_transition(
    bundle: &Bundle,
    native: &[OfEntities],
    call: &CallOnModel,
    transition: &str,
) -> bool {
    let of_model = native.iter().filter(|one| one.model == call.model);
    let mut machines = of_model.flat_map(|one| {
        let machines = bundle.machines.iter();
        machines.filter(|machine| machine.name == one.machine)
    });
    machines.any(|machine| {
        let mut events = machine.states.iter().flat_map(|state| &state.events);
        events.any(|event| event.name == transition)
    })
}
