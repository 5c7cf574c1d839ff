//! Steps that work on entities, in the commit of their run (`runs.md` §6).

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{CONFLICTS_MAX, advance::Advancing, entity_call::EntityCall};
use crate::clock::{PointInTime, Timestamp};
use crate::entity::{Document, Image, Patch, Position, Sequence};
use crate::error::{Code, Failure};
use crate::id::{EntityId, ModelKey, StateName, TransitionName};
use crate::program::{EntityAnswer, EntityStep, Since, Wanted};
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

/// The states that are waited for.
#[derive(Debug, Clone, Copy, Default)]
struct AwaitedStates<'a> {
    states: &'a [Box<str>],
    /// Versions after this position count, not the current one alone: the wait has begun.
    after: Option<Position>,
    /// Later ones do not.
    until: Option<Timestamp>,
}

impl AwaitedStates<'_> {
    fn is_in_time(&self, version: &Version) -> bool {
        self.until
            .is_none_or(|until| version.image.updated <= until)
    }

    fn is_reached(&self, version: &Version) -> bool {
        let state = version.image.state.as_str();
        self.states.iter().any(|wanted| **wanted == *state)
    }
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
        wanted: &Wanted,
    ) -> Result<EntityAnswer, Failure> {
        if advancing.conflicts >= CONFLICTS_MAX {
            return Ok(EntityAnswer::Refused {
                code: Code::Conflict.as_str().into(),
                message: "the entity was changed by others each time; try again later".into(),
                retryable: true,
            });
        }
        let states = states_of_moving(session).await?;
        let unit = session.unit()?;
        let awaited = AwaitedStates {
            states: &wanted.states,
            after: match wanted.since {
                Since::Now => None,
                Since::Position(seen) => Some(Position(seen)),
                Since::Parked => unit.run(advancing.run).await?.map(|run| run.position),
            },
            until: wanted.until,
        };
        let mark = unit.mark();
        // The step, what its cascade writes and the run's next position are one commit.
        let before = session.keep_whole(true);
        let mut tried = self.try_step(session, advancing.by, call, awaited).await;
        session.keep_whole(before);
        if tried.is_ok()
            && let Some(moved) = moved_twice(session, &states).await?
        {
            tried = Err(moved);
        }
        let never = match &tried {
            Ok(EntityAnswer::NotYet { .. }) => {
                let input = &call.input;
                self.never_reached(session, advancing, input, awaited).await
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
        AwaitedStates { states, after, .. }: AwaitedStates<'_>,
    ) -> Result<Option<Failure>, Failure> {
        let awaited: Await = read(input)?;
        // A wait that has begun goes on, also if the workflows of the model were changed since.
        if after.is_some() || awaited.timeout_ms.is_some() {
            return Ok(None);
        }
        let unit = session.unit()?;
        let Some(version) = unit.read(entity_id(&awaited.entity_id)?).await? else {
            return Ok(None);
        };
        let model = &version.image.model;
        let tenant = &advancing.by.tenant;
        let Some(definitions) = self.storage().definitions(tenant, model).await? else {
            return Ok(None);
        };
        let workflows = &definitions.workflows;
        let mut awaited_states = states.iter().map(|state| StateName::from(&**state));
        let may_be_reached = awaited_states.any(|state| {
            let mut all = workflows.entries.iter();
            all.any(|entry| entry.workflow.state(&state).is_some())
                || workflows.govern(None, &state).is_some()
        });
        if may_be_reached {
            return Ok(None);
        }
        let named = &states[..states.len().min(STATES_NAMED_MAX)];
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
        let awaited = AwaitedStates::default();
        match self.try_step(session, by, call, awaited).await? {
            EntityAnswer::Done { output } | EntityAnswer::Reached { output, .. } => {
                Ok(super::connectors::with_id(&output))
            }
            EntityAnswer::NotYet { .. } | EntityAnswer::Refused { .. } => {
                Err(malformed("nothing is waited for"))
            }
        }
    }

    async fn try_step(
        &self,
        session: &mut Session,
        by: &Initiator,
        call: &EntityCall,
        awaited: AwaitedStates<'_>,
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
                self.look_for(session, by, id, awaited).await
            }
        }
    }

    /// Whether an entity is in one of the states, or was since the wait began: the first commit that
    /// has left it in one, or has deleted it, counts, however late it is looked for.
    async fn look_for(
        &self,
        session: &mut Session,
        by: &Initiator,
        id: EntityId,
        awaited: AwaitedStates<'_>,
    ) -> Result<EntityAnswer, Failure> {
        let unit = session.unit()?;
        // The commit fails if it moves meanwhile, so no move is missed.
        let now = unit.read(id).await?;
        let first = match awaited.after {
            None => now.clone().filter(|now| awaited.is_reached(now)),
            Some(after) => {
                let mut snapshot = unit.snapshot().await?.clone();
                let mut first = None;
                while let Some(version) = snapshot.version(id).await? {
                    let position = version.position;
                    let counts = !version.live || awaited.is_reached(&version);
                    if counts && awaited.is_in_time(&version) {
                        first = Some(version);
                    }
                    if position <= after {
                        break;
                    }
                    let before = Sequence(position.0 - 1);
                    snapshot = self.storage().snapshot(&by.tenant, before).await?;
                }
                first
            }
        };
        match (first, now) {
            (Some(first), _) if first.live => Ok(EntityAnswer::Reached {
                state: first.image.state.as_str().into(),
                output: shown(&first.image),
            }),
            (None, Some(now)) => Ok(EntityAnswer::NotYet {
                seen: now.is_committed().then_some(now.position.0),
            }),
            (Some(_), _) | (None, None) => Err(absent(id)),
        }
    }
}

/// The states of the entities that are being moved by transitions that have signalled the run.
async fn states_of_moving(
    session: &mut Session,
) -> Result<Vec<(EntityId, Option<StateName>)>, Failure> {
    let mut states = Vec::new();
    for id in session.moving().to_vec() {
        let now = session.unit()?.peek(id).await?;
        states.push((id, now.map(|now| now.image.state)));
    }
    Ok(states)
}

/// Why a step is refused that has moved an entity while another transition moves it: that one would
/// overwrite the state.
async fn moved_twice(
    session: &mut Session,
    before: &[(EntityId, Option<StateName>)],
) -> Result<Option<Failure>, Failure> {
    for (id, state) in before {
        let now = session.unit()?.peek(*id).await?;
        if now.map(|now| now.image.state) != *state {
            let message = "the entity is being moved by the transition that signals this run; move \
                           it after that, for example by a retry after a delay";
            let failure = Failure::new(Code::Conflict, message);
            return Ok(Some(failure.with("entityId", id.to_string())));
        }
    }
    Ok(None)
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
            // As in requests: an empty text names no version, and `*` is any.
            if_match: self.if_match.filter(|named| !matches!(&**named, "" | "*")),
        })
    }
}
