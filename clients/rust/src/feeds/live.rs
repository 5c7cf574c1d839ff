//! What satisfies a condition, and how that changes.

use super::{Change, Resumable, following};
use crate::{
    Answers, Client, Entity, Error, Model, Result,
    api::{Condition, EntitySearchSubscribeAnswer, EntitySearchSubscribeRequest},
};

/// An event of a live search.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Match {
    /// An entity of the first result.
    Entity(Box<Entity>),
    /// A change that makes an entity enter the result, changes it within, or makes it leave; or
    /// one that says that the first result is complete as of its sequence.
    Change(Box<Change>),
}

/// Chooses what [`Entities::follow_search`](crate::Entities::follow_search) follows.
#[derive(Clone, Debug)]
pub struct Live {
    request: EntitySearchSubscribeRequest,
}

impl Live {
    /// Chooses the entities of a model that satisfy a condition.
    pub fn new(model: impl Into<Model>, condition: impl Into<Condition>) -> Self {
        Self {
            request: EntitySearchSubscribeRequest::new(condition, model),
        }
    }

    /// Only the changes after the sequence of one that was dealt with, rather than the whole
    /// result first.
    #[must_use]
    pub fn after(mut self, sequence: i64) -> Self {
        self.request = self.request.from_sequence(sequence);
        self
    }

    /// Includes the documents of changes; those of the first result always are.
    #[must_use]
    pub fn with_data(mut self) -> Self {
        self.request = self.request.include_data(true);
        self
    }
}

struct Source {
    request: EntitySearchSubscribeRequest,
    has_begun: bool,
}

pub(crate) fn live_search(client: Client, what: Live) -> Answers<Match> {
    let request = what.request;
    following(
        client,
        Source {
            request,
            has_begun: false,
        },
    )
}

impl Resumable for Source {
    type Event = EntitySearchSubscribeAnswer;
    type Item = Match;

    async fn open(&mut self, client: &Client) -> Result<Answers<EntitySearchSubscribeAnswer>> {
        Ok(client.entity_search_subscribe(&self.request))
    }

    fn read(&mut self, event: EntitySearchSubscribeAnswer) -> Result<Option<Match>> {
        self.has_begun = true;
        Ok(Some(match event {
            EntitySearchSubscribeAnswer::EntityResponse(answer) => {
                Match::Entity(Box::new(Entity::of(answer.payload)))
            }
            EntitySearchSubscribeAnswer::EntityChangeEvent(change) => {
                self.request.from_sequence = change.sequence.or(self.request.from_sequence);
                Match::Change(Box::new(change))
            }
        }))
    }

    fn is_final(&mut self) -> bool {
        self.request.from_sequence.is_none() || !self.has_begun
    }

    async fn is_complete(&mut self, _: &Client) -> Result<bool> {
        if self.request.from_sequence.is_none() {
            let message = "the live search ended before its first result was complete";
            return Err(Error::lost(message));
        }
        Ok(false)
    }
}
