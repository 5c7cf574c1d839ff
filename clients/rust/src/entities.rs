//! The most common operations on entities.

use chrono::{DateTime, Utc};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Answer, Answers, Change, Changes, Client, Event, Json, Live, Match, Request, Result,
    api::{
        self, DataFormat, EntityCreateRequest, EntityDeleteRequest, EntityGetRequest,
        EntityPayload, EntityResponse, EntitySearchRequest, EntityTransactionResponse,
        EntityTransitionRequest, EntityUpdateRequest, LifecycleCondition, LifecycleConditionField,
        LimitExceeded, NewEntity,
    },
    feeds,
};

/// The name and the version of a model.
pub use crate::api::ModelSpec as Model;

impl From<&Self> for Model {
    fn from(model: &Self) -> Self {
        model.clone()
    }
}

/// A stored document and the state that it is in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entity {
    /// Its id.
    pub id: String,
    /// The name and the version of its model, if they are known.
    pub model: Option<Model>,
    /// That of its workflow.
    pub state: String,
    /// The document.
    pub data: Json,
    /// The transaction that wrote this version.
    pub transaction_id: Option<String>,
    /// When it was created.
    pub created_at: Option<DateTime<Utc>>,
    /// When this version was written.
    pub updated_at: Option<DateTime<Utc>>,
}

impl Entity {
    /// Decodes the document. With the feature `exact-numbers` a [`serde_json::Value`] keeps all
    /// digits.
    pub fn document<T: DeserializeOwned>(&self) -> Result<T> {
        self.data.decode()
    }

    pub(crate) fn of(payload: EntityPayload) -> Self {
        let data = payload.data.unwrap_or_default();
        let Some(meta) = payload.meta else {
            return Self {
                id: String::new(),
                model: None,
                state: String::new(),
                data,
                transaction_id: None,
                created_at: None,
                updated_at: None,
            };
        };
        Self {
            id: meta.id,
            model: Some(Model::new(meta.model_key.name, meta.model_key.version)),
            state: meta.state,
            data,
            transaction_id: Some(meta.transaction_id),
            created_at: Some(meta.creation_date),
            updated_at: Some(meta.last_update_time),
        }
    }

    pub(crate) fn attached(attached: api::AttachedEntity) -> Self {
        let meta = attached.meta;
        Self {
            id: meta.id,
            model: Some(Model::new(meta.model_key.name, meta.model_key.version)),
            state: meta.state,
            data: attached.data,
            transaction_id: Some(meta.transaction_id),
            created_at: Some(meta.creation_date),
            updated_at: Some(meta.last_update_time),
        }
    }
}

impl Answer for Entity {
    fn read(event: &Event) -> Result<Self> {
        EntityResponse::read(event).map(|answer| Self::of(answer.payload))
    }
}

/// What a write did.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// The id of the entity, of the first of several.
    pub entity_id: String,
    /// The ids of all entities.
    pub entity_ids: Vec<String>,
    /// The transaction.
    pub transaction_id: Option<String>,
    /// Warnings of the server and of compute members.
    pub warnings: Vec<String>,
}

impl Answer for Written {
    fn read(event: &Event) -> Result<Self> {
        let answer = EntityTransactionResponse::read(event)?;
        let done = answer.transaction_info;
        Ok(Self {
            entity_id: done.entity_ids.first().cloned().unwrap_or_default(),
            entity_ids: done.entity_ids,
            transaction_id: done.transaction_id,
            warnings: answer.warnings,
        })
    }
}

/// The most common operations on entities; those of a call are in its transaction.
#[derive(Debug)]
pub struct Entities<'a> {
    client: &'a Client,
}

impl<'a> Entities<'a> {
    pub(crate) fn new(client: &'a Client) -> Self {
        Self { client }
    }

    /// Sends a request whose document may not have a form in JSON, which is reported when the
    /// request is awaited.
    fn with_document<A: Answer, R: Serialize>(
        &self,
        event_type: &str,
        document: &(impl Serialize + ?Sized),
        request: impl FnOnce(Json) -> R,
    ) -> Request<A> {
        match Json::encode(document) {
            Ok(data) => self.client.call(event_type, &request(data)),
            Err(failure) => Request::new(self.client.clone(), Err(failure)),
        }
    }

    /// Stores a document, which is whatever becomes a JSON object, and moves it through its
    /// workflow.
    pub fn create(
        &self,
        model: impl Into<Model>,
        document: &(impl Serialize + ?Sized),
    ) -> Request<Written> {
        self.with_document("EntityCreateRequest", document, |data| {
            EntityCreateRequest::new(DataFormat::Json, NewEntity::new(data, model))
        })
    }

    /// Reads an entity.
    pub fn get(&self, id: impl Into<String>) -> Request<Entity> {
        self.client
            .call("EntityGetRequest", &EntityGetRequest::new(id))
    }

    /// Replaces the document of an entity.
    pub fn update(
        &self,
        id: impl Into<String>,
        document: &(impl Serialize + ?Sized),
    ) -> Request<Written> {
        self.with_document("EntityUpdateRequest", document, |data| {
            EntityUpdateRequest::new(DataFormat::Json, api::Change::new(data, id))
        })
    }

    /// Replaces the document of an entity, and takes a transition.
    pub fn update_and_transition(
        &self,
        id: impl Into<String>,
        document: &(impl Serialize + ?Sized),
        transition: impl Into<String>,
    ) -> Request<Written> {
        self.with_document("EntityUpdateRequest", document, |data| {
            let change = api::Change::new(data, id).transition(transition);
            EntityUpdateRequest::new(DataFormat::Json, change)
        })
    }

    /// Takes a transition of an entity, and leaves the document to its processors.
    pub fn transition(&self, id: impl Into<String>, transition: impl Into<String>) -> Request<()> {
        let request = EntityTransitionRequest::new(id, transition);
        self.client.call("EntityTransitionRequest", &request)
    }

    /// Deletes an entity. Its history stays.
    pub fn delete(&self, id: impl Into<String>) -> Request<()> {
        self.client
            .call("EntityDeleteRequest", &EntityDeleteRequest::new(id))
    }

    /// Reads all entities of a model, page by page, in the order of their ids. An entity that is
    /// there all the time comes once, whatever is written or deleted meanwhile.
    pub fn list(&self, model: impl Into<Model>) -> Answers<Entity> {
        const SIZE: i64 = 1000;
        let (client, model) = (self.client.clone(), model.into());
        let page = move |last: &str| {
            let request = page_after(last, model.clone(), SIZE);
            client.stream::<Entity>("EntitySearchRequest", &request)
        };
        let state = (page(""), String::new(), 0);
        Answers::new(futures_util::stream::try_unfold(state, move |state| {
            let page = page.clone();
            async move {
                let (mut items, mut last, mut count) = state;
                loop {
                    if let Some(entity) = items.next().await {
                        let entity = entity?;
                        last.clone_from(&entity.id);
                        return Ok(Some((entity, (items, last, count + 1))));
                    }
                    if count < SIZE {
                        return Ok(None);
                    }
                    count = 0;
                    items = page(&last);
                }
            }
        }))
    }

    /// The entities that satisfy a condition.
    ///
    /// If the connection is lost before the first entity, the search begins again. Later it
    /// resumes if the request has a point in time, because only then the rest is the rest of the
    /// same result; no entity is repeated. Without one it fails with `CONNECTION_LOST`.
    pub fn search(&self, request: EntitySearchRequest) -> Answers<Entity> {
        feeds::search(self.client.clone(), request)
    }

    /// Follows changes in the order of their commits, each once. It has no end: after a lost
    /// connection it resumes after the last change, so none is missing and none is repeated.
    ///
    /// It is a separate call, so it may be read slowly.
    pub fn follow(&self, what: Changes) -> Answers<Change> {
        feeds::changes(self.client.clone(), what)
    }

    /// Follows what satisfies a condition: first the entities that do, then a change that says
    /// that the result is complete, then the changes that make an entity enter or leave the
    /// result, or change it within.
    ///
    /// It has no end: a connection that is lost after the result was complete is resumed after the
    /// last change; one that is lost before is an error. It is a separate call, so it may be read
    /// slowly.
    pub fn follow_search(&self, what: Live) -> Answers<Match> {
        feeds::live_search(self.client.clone(), what)
    }
}

/// Asks for the entities whose ids come after one. Pages that are found by their number move when
/// an entity of an earlier one is deleted.
fn page_after(last: &str, model: Model, size: i64) -> EntitySearchRequest {
    let last: Json = serde_json::Value::from(last).into();
    let is_later = LifecycleCondition::new(LifecycleConditionField::Id, "GREATER_THAN").value(last);
    EntitySearchRequest::new(is_later, model)
        .limit(size)
        .limit_exceeded(LimitExceeded::Truncate)
        // In a transaction, it has seen what it lists.
        .tracking_read(true)
}
