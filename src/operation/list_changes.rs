//! The newest changes of an entity, newest first.

use futures_util::stream;

use super::{Access, Answers, Context, Family, Operation, Output, get_entity::not_found};
use crate::clock::PointInTime;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        entity::{entity_id, point_in_time},
        search,
    },
};
use crate::id::EntityId;

/// How many changes are returned.
const CHANGES_MAX: i64 = 1_000;

pub(super) struct ListChanges {
    id: EntityId,
    then: Option<PointInTime>,
}

impl Operation for ListChanges {
    type Payload = search::Changes;
    type Answer = search::Changed;

    const REQUEST: EventType = EventType::EntityChangesMetadataGetRequest;
    const RESPONSE: EventType = EventType::EntityChangesMetadataResponse;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Many;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Changes = payload::decode(payload)?;
        Ok(Self {
            then: point_in_time(request.point_in_time.as_deref())?,
            id: entity_id(&request.entity_id)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let at = match &self.then {
            Some(then) => cx.storage().at(then).await?,
            None => cx.storage().latest(),
        };
        let snapshot = cx.storage().snapshot(&cx.caller().tenant, at).await?;
        let changes = snapshot.history(self.id, CHANGES_MAX).await?;
        if changes.is_empty() {
            return Err(not_found(self.id));
        }
        let changes = changes.into_iter();
        let changes = changes.map(|change| Ok(search::Changed::new(&change)));
        Ok(Output::many(stream::iter(changes)))
    }
}
