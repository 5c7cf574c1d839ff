//! Machines of entities: each is a workflow of their model, whose guards and actions are this
//! service's own (`orchestration.md` 4.6).

use std::{sync::Arc, time::Instant};

use parking_lot::Mutex;
use tracing::info;

use super::{Acting, Fire, Fired};
use crate::connector::Config;
use crate::dispatch::{Callee, CriterionResult, Reply, TransitionContext};
use crate::engine::{Answer, Answered, Dispatch, DispatchRecord, Run, Start};
use crate::entity::{Document, Image, Patch};
use crate::error::{Code, Failure};
use crate::expr::{members, string};
use crate::id::{EntityId, ModelKey, Tenant, WorkflowName};
use crate::registry::bundle::{Machine, of_model};
use crate::runtime::{
    Initiator, Runtime, Session, again,
    anchor::{self, Anchor, Origin},
    dispatch::take_in_changes,
    drive::Stopped,
};
use crate::storage::{self, Attribution, Definitions, ModelChange};
use crate::workflow::{Entry, ImportMode, MachineName, Workflow, WorkflowSet};

/// The member of a document that shows its state, if the model has it.
const STATUS: &str = "status";

/// What guards and actions read if a transition is requested by its name, without an event.
const NO_DATA: &str = "{}";

/// An event that an entity takes.
#[derive(Debug)]
pub struct EntityEvent {
    data: Arc<str>,
    /// Its action is not done again if the commit has to be repeated.
    acting: Acting,
    /// The result of its action in the last try.
    result: Mutex<Option<Arc<str>>>,
}

impl EntityEvent {
    pub fn new(data: Arc<str>) -> Arc<Self> {
        Arc::new(Self {
            data,
            acting: Acting::for_event(),
            result: Mutex::default(),
        })
    }
}

/// An action that was done.
struct Done {
    result: Arc<str>,
    /// Whether it is not rolled back with the transaction.
    is_outside: bool,
}

/// What became of an event.
#[derive(Debug)]
pub enum Native {
    Fired(Fired, Vec<String>),
    /// The model does not have the workflow of the machine yet.
    WithoutWorkflow,
}

/// Whether a call is one of a machine of entities, so that no member is called.
pub(in crate::runtime) fn machine_called<'a>(
    workflows: &'a WorkflowSet,
    call: &Dispatch,
) -> Option<&'a MachineName> {
    let is_ours = match &call.callee {
        Callee::Criterion { name, .. } => name.as_str() == MachineName::GUARD,
        Callee::Processor(_) => call
            .settings
            .tags
            .iter()
            .any(|tag| tag.starts_with(Machine::TAG)),
        Callee::Schedule(_) => false,
    };
    let entry = workflows.named(&call.workflow).filter(|_| is_ours)?;
    entry.workflow.machine.as_ref()
}

/// The document with the state in it, if that is what a machine of entities shows there.
pub(in crate::runtime) fn with_status(
    definitions: &Definitions,
    run: &Run,
) -> Result<Option<Document>, Failure> {
    let workflows = &definitions.workflows;
    if !workflows.has_machines() {
        return Ok(None);
    }
    let image = run.image();
    let governing = workflows.govern(image.workflow.as_ref(), &image.state);
    let is_shown = governing.is_some_and(|workflow| workflow.machine.is_some())
        && definitions.model.schema.has_text(STATUS);
    let state = image.state.as_str();
    if !is_shown || status(&image).as_deref() == Some(state) {
        return Ok(None);
    }
    let internal = |error: &dyn std::fmt::Display| Failure::internal(error.to_string());
    let read = |text: &str| Document::parse(text).map_err(|error| internal(&error));
    let patch = serde_json::json!({ STATUS: state }).to_string();
    let document = read(image.document.as_str())?;
    let patched = Patch::Merge(read(&patch)?).apply(&document);
    patched.map(Some).map_err(|error| internal(&error))
}

/// The text of `$.status`.
fn status(image: &Image) -> Option<String> {
    let members = members(image.document.as_str())?;
    string(members.get(STATUS)?.get())
}

fn answered(name: &str, reply: Reply, began: Instant) -> Answered {
    Answered {
        result: Ok(Answer {
            reply,
            warnings: Vec::new(),
        }),
        record: DispatchRecord {
            name: name.to_owned(),
            micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
            ..DispatchRecord::default()
        },
    }
}

impl Fire {
    /// The entity that the event is for.
    pub fn entity_id(&self) -> Result<EntityId, Failure> {
        let text = string(&self.id).unwrap_or_else(|| self.id.to_string());
        text.parse().map_err(|_| self.absent())
    }

    /// The model of the entity.
    pub fn model(&self) -> Result<ModelKey, Failure> {
        of_model(&self.entity).ok_or_else(|| self.without_model())
    }

    fn absent(&self) -> Failure {
        let message = format!(
            "the model {} has no entity with the id {}",
            self.entity, self.id
        );
        Failure::new(Code::EntityNotFound, message)
    }

    pub fn without_model(&self) -> Failure {
        let message = format!(
            "there is no model {}; import it, or name a connector that is a database with such a \
             table",
            self.entity
        );
        Failure::new(Code::ModelNotFound, message)
    }

    /// The state of an entity: one that no workflow but the built-in one has governed begins with
    /// what its `$.status` says, as a row does.
    fn state_of(&self, image: &Image) -> String {
        let state = image.state.as_str();
        if self.machine.state(state).is_some() || image.workflow.is_some() {
            return state.to_owned();
        }
        let status = status(image).filter(|status| !status.is_empty());
        status.unwrap_or_else(|| self.machine.initial.clone())
    }
}

impl Runtime {
    /// Gives a model the workflow of a machine, unless it has it.
    pub async fn give_machine(
        &self,
        tenant: &Tenant,
        by: Attribution,
        model: &ModelKey,
        workflow: &str,
    ) -> Result<(), Failure> {
        let parsed = Workflow::import(workflow, crate::compat::Compat::default());
        let workflow = Arc::new(
            parsed
                .map_err(|error| Failure::internal(error.to_string()))?
                .workflow,
        );
        let give = || async {
            let definitions = self.storage().definitions(tenant, model).await?;
            let missing = || storage::Error::ModelNotFound(model.clone());
            let definitions = definitions.ok_or_else(missing)?;
            if definitions.workflows.has(&workflow) {
                return Ok(());
            }
            let incoming = vec![Entry::from(Arc::clone(&workflow))];
            let change = ModelChange::SetWorkflows {
                seen: definitions.workflow_revision,
                workflows: definitions.workflows.import(ImportMode::Merge, incoming),
            };
            let storage = self.storage();
            let changing = storage.change_model(tenant, by.clone(), model, change);
            changing.await?;
            info!(%model, workflow = %workflow.name, "a state machine is a workflow of a model");
            Ok(())
        };
        again(give).await
    }

    /// Fires an event for an entity, in the transaction of a session.
    pub async fn fire_entity(
        &self,
        session: &mut Session,
        by: &Initiator,
        fire: &Fire,
        event: &Arc<EntityEvent>,
    ) -> Result<Native, Failure> {
        let (model, id) = (fire.model()?, fire.entity_id()?);
        let definitions = session.unit()?.definitions(&model).await?;
        let definitions = definitions.ok_or_else(|| fire.without_model())?;
        let base = session.unit()?.read(id).await?;
        let base = base.filter(|base| base.image.model == model);
        let base = base.ok_or_else(|| fire.absent())?;
        let previous = fire.state_of(&base.image);
        let to = fire.way(&previous)?.to.clone();
        let workflow = fire.machine.workflow(&fire.namespace);
        let parsed = Workflow::import(&workflow, crate::compat::Compat::default());
        let workflow = parsed
            .map_err(|error| Failure::internal(error.to_string()))?
            .workflow;
        if !definitions.workflows.has(&workflow) {
            return Ok(Native::WithoutWorkflow);
        }
        let document = anchor::parsed(&base.image.document)?;
        let start = Start::Named((*fire.event).into());
        let now = self.0.clock.now();
        let mut run = Run::update(&base.image, document, start, session.id(), now);
        run.begin_at(WorkflowName::from(&*fire.machine.name), (&*previous).into());
        let run = Box::new(self.as_known(run));
        let mut anchor = Anchor::new(definitions, Origin::At(base), None);
        anchor.event = Some(Arc::clone(event));
        session.is_about(id);
        session.acts_for(Some(event.acting.clone()));
        *event.result.lock() = None;
        let warnings = self.drive(session, run, anchor, by).await?;
        let fired = Fired {
            result: event.result.lock().take(),
            previous,
            current: to,
        };
        Ok(Native::Fired(fired, warnings))
    }

    /// Evaluates a guard of a machine, or does an action, within the transaction of the entity.
    pub(in crate::runtime) async fn dispatch_to_machine(
        &self,
        session: &mut Session,
        run: &Run,
        call: &Dispatch,
        anchor: &Anchor,
        by: &Initiator,
        machine: &MachineName,
    ) -> Result<Answered, Stopped> {
        let began = Instant::now();
        let event = anchor.event.as_deref();
        let Some(context) = &call.transition_context else {
            let message = "a guard of a state machine cannot select a workflow";
            return Err(Failure::new(Code::WorkflowFailed, message).into());
        };
        if let Callee::Criterion { .. } = call.callee {
            let data = event.map_or_else(|| NO_DATA.into(), |event| Arc::clone(&event.data));
            let guard = call.settings.context.as_deref();
            let transition = context.transition.as_str();
            let reason = match self.check_guard(by, transition, guard, &data).await {
                Ok(()) => None,
                Err(failure) if event.is_none() && failure.code() == Code::GuardRejected => {
                    Some(failure.message().into())
                }
                Err(failure) => return Err(failure.into()),
            };
            let matches = reason.is_none();
            let reply = Reply::Evaluated(CriterionResult { matches, reason });
            return Ok(answered(call.callee.name(), reply, began));
        }
        let image = run.image();
        let (id, sent) = (image.id, image.document.clone());
        let fire = self.fired_by(by, machine, context, &image, event).await?;
        // Any caller may import a workflow: what is asked of connectors depends on the guard that an
        // administrator gave.
        let way = fire.way(context.from.as_str())?;
        let guard = way.guard.as_deref();
        self.check_guard(by, &way.name, guard, &fire.data).await?;
        let acting = session.acting().cloned();
        let acting = acting.unwrap_or_else(Acting::for_event);
        let key = acting.key_of(id, context);
        let mut result = acting.acted.result(&key);
        if result.is_none() {
            // What the action writes or reads sees the entity as it is now.
            anchor.stage(session, image, None)?;
            let done = self.act_for_entity(session, by, &fire, context, &key);
            result = done.await?.map(|done| {
                // What is part of the transaction is rolled back with it.
                if done.is_outside {
                    acting.acted.keep(key, Arc::clone(&done.result));
                }
                done.result
            });
        }
        if let Some(event) = event {
            *event.result.lock() = result;
        }
        let mut answered = answered(call.callee.name(), Reply::Processed(None), began);
        take_in_changes(session, id, &sent, &call.callee, &mut answered).await?;
        Ok(answered)
    }

    /// The event of which a transition is taken.
    async fn fired_by(
        &self,
        by: &Initiator,
        name: &MachineName,
        context: &TransitionContext,
        image: &Image,
        event: Option<&EntityEvent>,
    ) -> Result<Fire, Failure> {
        let registry = &self.0.registry;
        let machine = registry.machine(&by.tenant, &name.namespace, &name.name);
        let machine = machine.await?.ok_or_else(|| {
            let message = format!(
                "the state machine `{}` of this workflow is not there any more; apply its bundle, or \
                 import another workflow",
                name.name
            );
            Failure::new(Code::WorkflowFailed, message)
        })?;
        Ok(Fire {
            machine: Arc::new(machine),
            namespace: Arc::clone(&name.namespace),
            entity: image.model.to_string().into(),
            id: crate::expr::quoted(&image.id.to_string()).into(),
            event: context.transition.as_str().into(),
            data: event.map_or_else(|| NO_DATA.into(), |event| Arc::clone(&event.data)),
        })
    }

    /// Does the action of a transition; none if the machine has none any more.
    async fn act_for_entity(
        &self,
        session: &mut Session,
        by: &Initiator,
        fire: &Fire,
        context: &TransitionContext,
        key: &str,
    ) -> Result<Option<Done>, Stopped> {
        let Some(call) = &fire.way(context.from.as_str())?.action else {
            return Ok(None);
        };
        let action = self.action(by, fire, call, key.to_owned()).await?;
        if matches!(action.connector.config, Config::Entity) {
            let result = self.act_on_entity(session, by, &action).await?;
            let is_outside = false;
            return Ok(Some(Done { result, is_outside }));
        }
        session.park()?;
        let done = tokio::select! {
            biased;
            done = self.act(by, fire, &action) => done,
            error = session.cancelled(by) => return Err(error.into()),
        };
        session.take_back(by, None).await?;
        Ok(Some(Done {
            result: done?,
            is_outside: true,
        }))
    }
}
