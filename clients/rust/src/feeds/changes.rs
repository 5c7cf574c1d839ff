//! Committed changes.

use super::{Resumable, following, newest};
use crate::{Answers, Client, Model, Result, api::EntityChangesSubscribeRequest};

/// A committed change of an entity.
pub use crate::api::EntityChangeEvent as Change;

/// Chooses what [`Entities::follow`](crate::Entities::follow) follows: all changes of the tenant
/// from now on, if nothing is set.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    model: Option<Model>,
    states: Vec<String>,
    after: Option<i64>,
    with_data: bool,
}

impl Changes {
    /// Chooses all changes of the tenant from now on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of a model.
    #[must_use]
    pub fn model(mut self, model: impl Into<Model>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Those that leave an entity in one of these states.
    #[must_use]
    pub fn states(mut self, states: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.states = states.into_iter().map(Into::into).collect();
        self
    }

    /// Those after the sequence of the last change that was dealt with; 0 is before the first.
    #[must_use]
    pub fn after(mut self, sequence: i64) -> Self {
        self.after = Some(sequence);
        self
    }

    /// Includes the documents.
    #[must_use]
    pub fn with_data(mut self) -> Self {
        self.with_data = true;
        self
    }
}

struct Source {
    request: EntityChangesSubscribeRequest,
}

pub(crate) fn changes(client: Client, what: Changes) -> Answers<Change> {
    let mut request = EntityChangesSubscribeRequest::new().include_data(what.with_data);
    request.model = what.model;
    request.states = (!what.states.is_empty()).then_some(what.states);
    request.from_sequence = what.after;
    following(client, Source { request })
}

impl Resumable for Source {
    type Event = Change;
    type Item = Change;

    async fn open(&mut self, client: &Client) -> Result<Answers<Change>> {
        if self.request.from_sequence.is_none() {
            let newest = newest(client, "EntityChangesSubscribeRequest").await?;
            self.request.from_sequence = Some(newest);
        }
        Ok(client.entity_changes_subscribe(&self.request))
    }

    fn read(&mut self, change: Change) -> Result<Option<Change>> {
        self.request.from_sequence = change.sequence.or(self.request.from_sequence);
        Ok(Some(change))
    }

    fn is_final(&mut self) -> bool {
        self.request.from_sequence.is_none() // the server could not be reached at first
    }

    async fn is_complete(&mut self, _: &Client) -> Result<bool> {
        Ok(false)
    }
}
