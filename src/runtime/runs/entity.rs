//! Steps that work on entities, in the commit of their run (`runs.md` §6).

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{CONFLICTS_MAX, advance::Advancing, entity_call::EntityCall};
use crate::clock::PointInTime;
use crate::entity::{Document, Image, Patch};
use crate::error::{Code, Failure};
use crate::id::{EntityId, ModelKey, StateName, TransitionName};
use crate::program::{EntityAnswer, EntityStep};
use crate::runtime::{Content, Initiator, NewEntity, Runtime, Session, Update};
use crate::storage::Version;

/// How many states are named that are in no workflow.
const STATES_NAMED_MAX: usize = 10;

#[derive(Deserialize)]
struct Create<'a> {
    model: Model,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct Model {
    name: String,
    version: i32,
}

impl Model {
    pub(super) fn into_key(self) -> ModelKey {
        ModelKey::new(&self.name, self.version)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change<'a> {
    entity_id: String,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    patch: Option<&'a RawValue>,
    transition: Option<String>,
    if_match: Option<Box<str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Get {
    entity_id: String,
    point_in_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Await {
    entity_id: String,
    timeout_ms: Option<u64>,
}

pub(super) fn malformed(message: impl Into<String>) -> Failure {
    Failure::new(Code::BadRequest, message)
}

pub(super) fn read<'a, T: Deserialize<'a>>(input: &'a str) -> Result<T, Failure> {
    // An array would be read as the fields in their order.
    if !input.trim_start().starts_with('{') {
        return Err(malformed("the input is not an object"));
    }
    serde_json::from_str(input).map_err(|error| malformed(format!("the input: {error}")))
}

fn entity_id(text: &str) -> Result<EntityId, Failure> {
    text.parse()
        .map_err(|_| malformed(format!("entityId `{text}` is not a UUID")))
}

fn document(data: &RawValue) -> Result<Document, Failure> {
    Document::parse(data.get()).map_err(|error| malformed(error.to_string()))
}

/// Whether a failure says something about the request, not about the service: it becomes the
/// outcome of the step.
fn is_an_outcome(failure: &Failure) -> bool {
    !matches!(
        failure.code(),
        Code::Cancelled
            | Code::OutcomeUnknown
            | Code::ServerError
            | Code::StorageDamaged
            | Code::StorageUnavailable
    )
}

fn refused(failure: &Failure) -> EntityAnswer {
    EntityAnswer::Refused {
        code: failure.code().as_str().into(),
        message: failure.message().into(),
        retryable: failure.retryable(),
    }
}

/// The answer that shows an entity.
pub(super) fn shown(image: &Image) -> Arc<str> {
    let head = serde_json::json!({
        "entityId": image.id.to_string(),
        "model": {"name": &*image.model.name, "version": image.model.version},
        "state": image.state.as_str(),
        "transactionId": image.transaction.to_string(),
    });
    // The document is copied as a text, so that its digits stay.
    let head = head.to_string();
    let open = head.strip_suffix('}').unwrap_or(&head);
    format!("{open},\"data\":{}}}", image.document.as_str()).into()
}

impl Runtime {
    /// Does a step's work on an entity, or says why it was refused. What was refused leaves nothing
    /// behind.
    pub(super) async fn work_on(
        &self,
        session: &mut Session,
        advancing: &Advancing<'_>,
        call: &EntityCall,
        wanted: &[Box<str>],
    ) -> Result<EntityAnswer, Failure> {
        if advancing.conflicts >= CONFLICTS_MAX {
            return Ok(EntityAnswer::Refused {
                code: Code::Conflict.as_str().into(),
                message: "the entity was changed by others each time; try again later".into(),
                retryable: true,
            });
        }
        let mark = session.unit()?.mark();
        // The step, what its cascade writes and the run's next position are one commit.
        let before = session.keep_whole(true);
        let tried = self.try_step(session, advancing.by, call, wanted).await;
        session.keep_whole(before);
        let never = match &tried {
            Ok(EntityAnswer::NotYet) => {
                let input = &call.input;
                self.never_reached(session, advancing, input, wanted).await
            }
            Ok(_) | Err(_) => Ok(None),
        };
        match never?.map_or(tried, Err) {
            Ok(answer) => {
                session.unit()?.release(mark);
                Ok(answer)
            }
            Err(failure) if is_an_outcome(&failure) => {
                let unit = session.unit()?;
                unit.roll_back_to(&mark);
                unit.release(mark);
                Ok(refused(&failure))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Why an entity that a step begins to wait for, without a time limit, reaches none of the states:
    /// no workflow of its model has them.
    async fn never_reached(
        &self,
        session: &mut Session,
        advancing: &Advancing<'_>,
        input: &str,
        wanted: &[Box<str>],
    ) -> Result<Option<Failure>, Failure> {
        let awaited: Await = read(input)?;
        let unit = session.unit()?;
        let run = unit.run(advancing.run).await?;
        // A wait that has begun goes on, also if the workflows of the model were changed since.
        let has_begun = run.is_some_and(|run| run.awaits.is_some());
        if has_begun || awaited.timeout_ms.is_some() {
            return Ok(None);
        }
        let Some(version) = unit.read(entity_id(&awaited.entity_id)?).await? else {
            return Ok(None);
        };
        let model = &version.image.model;
        let tenant = &advancing.by.tenant;
        let Some(definitions) = self.storage().definitions(tenant, model).await? else {
            return Ok(None);
        };
        let workflows = &definitions.workflows;
        let mut states = wanted.iter().map(|state| StateName::from(&**state));
        let may_be_reached = states.any(|state| {
            let mut all = workflows.entries.iter();
            all.any(|entry| entry.workflow.state(&state).is_some())
                || workflows.govern(None, &state).is_some()
        });
        if may_be_reached {
            return Ok(None);
        }
        let named = &wanted[..wanted.len().min(STATES_NAMED_MAX)];
        let message = format!(
            "no workflow of the model {model} has one of the states {}; name a state of a workflow, \
             or give `timeoutMs`",
            named.join(", ")
        );
        Ok(Some(malformed(message)))
    }

    /// Does the work of an action of a state machine on an entity; its result is JSON.
    pub(in crate::runtime) async fn entity_action(
        &self,
        session: &mut Session,
        by: &Initiator,
        call: &EntityCall,
    ) -> Result<Arc<str>, Failure> {
        match self.try_step(session, by, call, &[]).await? {
            EntityAnswer::Done { output } | EntityAnswer::Reached { output, .. } => {
                Ok(super::connectors::with_id(&output))
            }
            EntityAnswer::NotYet | EntityAnswer::Refused { .. } => {
                Err(malformed("nothing is waited for"))
            }
        }
    }

    async fn try_step(
        &self,
        session: &mut Session,
        by: &Initiator,
        call: &EntityCall,
        wanted: &[Box<str>],
    ) -> Result<EntityAnswer, Failure> {
        let (step, input) = (call.step, &*call.input);
        if let Some(only) = &call.only {
            let get: Get = read(input)?;
            let id = entity_id(&get.entity_id)?;
            // The commit fails if the entity is changed meanwhile.
            let version = session.unit()?.read(id).await?.ok_or_else(|| absent(id))?;
            only.check(&version.image)?;
        }
        match step {
            EntityStep::Create => {
                let create: Create<'_> = read(input)?;
                let entity = NewEntity {
                    model: create.model.into_key(),
                    document: document(create.data)?,
                };
                let created = self.create(session, entity, by).await?;
                written(session, created.id)
            }
            EntityStep::Update | EntityStep::Transition => {
                let change: Change<'_> = read(input)?;
                let update = change.into_update(step)?;
                let id = update.id;
                self.update(session, update, by).await?;
                written(session, id)
            }
            EntityStep::Delete => {
                let get: Get = read(input)?;
                let id = entity_id(&get.entity_id)?;
                self.delete(session, id, None, by).await?;
                Ok(EntityAnswer::Done {
                    output: serde_json::json!({"entityId": id.to_string()})
                        .to_string()
                        .into(),
                })
            }
            EntityStep::Get => {
                let get: Get = read(input)?;
                let id = entity_id(&get.entity_id)?;
                let version = match get.point_in_time.as_deref() {
                    None => session.unit()?.read(id).await?,
                    Some(instant) => {
                        let instant = PointInTime::parse(instant)
                            .map_err(|error| malformed(error.to_string()))?;
                        self.storage().entity_at(&by.tenant, id, &instant).await?
                    }
                };
                let version = version.ok_or_else(|| absent(id))?;
                Ok(EntityAnswer::Done {
                    output: shown(&version.image),
                })
            }
            EntityStep::Search => {
                let output = self.search_for(session, by, input).await?;
                Ok(EntityAnswer::Done { output })
            }
            EntityStep::Await => {
                let get: Get = read(input)?;
                let id = entity_id(&get.entity_id)?;
                // The commit fails if it moves meanwhile, so no move is missed.
                let version = session.unit()?.read(id).await?;
                let version: Version = version.ok_or_else(|| absent(id))?;
                let state = version.image.state.as_str();
                if wanted.iter().any(|wanted| **wanted == *state) {
                    return Ok(EntityAnswer::Reached {
                        state: state.into(),
                        output: shown(&version.image),
                    });
                }
                Ok(EntityAnswer::NotYet)
            }
        }
    }
}

fn absent(id: EntityId) -> Failure {
    Failure::new(Code::EntityNotFound, "entity not found").with("entityId", id.to_string())
}

/// The answer of a write.
fn written(session: &mut Session, id: EntityId) -> Result<EntityAnswer, Failure> {
    let transaction = session.entry();
    let unit = session.unit()?;
    let state = unit
        .peek_own(id)
        .map(|version| version.image.state.as_str().to_owned());
    let output = serde_json::json!({
        "entityId": id.to_string(),
        "state": state,
        "transactionId": transaction.to_string(),
    });
    Ok(EntityAnswer::Done {
        output: output.to_string().into(),
    })
}

impl Change<'_> {
    fn into_update(self, step: EntityStep) -> Result<Update, Failure> {
        let content = match (step, self.data, self.patch) {
            (EntityStep::Transition, ..) => Content::Kept,
            (_, Some(data), None) => Content::Replaced(document(data)?),
            (_, None, Some(patch)) => Content::Patched(Patch::Merge(document(patch)?)),
            (_, _, _) => return Err(malformed("send either `data` or `patch`")),
        };
        let transition = self.transition.map(TransitionName::from);
        if step == EntityStep::Transition && transition.is_none() {
            return Err(malformed("the input has no `transition`"));
        }
        Ok(Update {
            id: entity_id(&self.entity_id)?,
            content,
            transition,
            if_match: self.if_match,
        })
    }
}
