//! Searches.

use std::collections::HashSet;

use super::{Resumable, resuming};
use crate::{Answers, Client, Entity, Result, api::EntitySearchRequest};

/// How often a search is sent without an entity in return.
const ATTEMPTS: u32 = 3;

struct Source {
    request: EntitySearchRequest,
    seen: HashSet<String>,
    attempts: u32,
}

pub(crate) fn search(client: Client, request: EntitySearchRequest) -> Answers<Entity> {
    resuming(
        client,
        Source {
            request,
            seen: HashSet::new(),
            attempts: 0,
        },
    )
}

impl Resumable for Source {
    type Event = Entity;
    type Item = Entity;

    async fn open(&mut self, client: &Client) -> Result<Answers<Entity>> {
        self.attempts += 1;
        Ok(client.stream("EntitySearchRequest", &self.request))
    }

    fn read(&mut self, entity: Entity) -> Result<Option<Entity>> {
        let is_new = self.seen.insert(entity.id.clone());
        if is_new {
            self.attempts = 0;
        }
        Ok(is_new.then_some(entity))
    }

    fn is_final(&mut self) -> bool {
        let cannot_resume = !self.seen.is_empty() && self.request.point_in_time.is_none();
        cannot_resume || self.attempts >= ATTEMPTS
    }

    async fn is_complete(&mut self, _: &Client) -> Result<bool> {
        Ok(true)
    }
}
