//! A page of the entities of a model, in the order of their ids.

use super::{
    Access, Answers, Context, Family, Operation, Output,
    bounds::within,
    search_entities::{stream_of, view},
};
use crate::clock::PointInTime;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, entity::point_in_time, search},
};
use crate::id::ModelKey;
use crate::search::page;

const PAGE_SIZE: i64 = 20;
const PAGE_SIZE_MAX: i64 = 10_000;
const PAGE_NUMBER_MAX: i64 = 214_748;

pub(super) struct ListEntities {
    model: ModelKey,
    page: PageAsked,
    then: Option<PointInTime>,
}

/// Which page is asked for.
pub(super) struct PageAsked {
    pub(super) number: i64,
    pub(super) size: i64,
}

impl PageAsked {
    /// Reads it; no size, and one that is not above 0, is the usual one.
    pub(super) fn read(
        number: Option<i64>,
        size: Option<i64>,
        usual: i64,
    ) -> Result<Self, Failure> {
        let size = size.filter(|size| *size > 0).unwrap_or(usual);
        if size > PAGE_SIZE_MAX {
            return Err(Failure::new(
                Code::BadRequest,
                format!("pageSize is {size}; at most {PAGE_SIZE_MAX} are allowed"),
            ));
        }
        let number = within("pageNumber", number.unwrap_or(0), 0..=PAGE_NUMBER_MAX)?;
        Ok(Self { number, size })
    }
}

impl Operation for ListEntities {
    type Payload = search::GetAll;
    type Answer = search::Entity;

    const REQUEST: EventType = EventType::EntityGetAllRequest;
    const RESPONSE: EventType = EventType::EntityResponse;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Many;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::GetAll = payload::decode(payload)?;
        Ok(Self {
            page: PageAsked::read(request.page_number, request.page_size, PAGE_SIZE)?,
            model: request.model.into(),
            then: point_in_time(request.point_in_time.as_deref())?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let definitions = cx.definitions(&self.model).await?;
        let mut session = cx.session().await?;
        let view = view(&cx, &mut session, &definitions, self.then.as_ref()).await?;
        let hits = page(view, &definitions, self.page.number, self.page.size).await?;
        // Listed inside a transaction is read inside it (`models-and-entities.md` §8).
        if session.has_joined() && self.then.is_none() {
            for (id, position) in hits.seen() {
                session.unit()?.track(id, Some(position))?;
            }
        }
        session.finish(cx.cancel()).await?;
        Ok(Output::Many(stream_of(cx, hits, self.then)))
    }
}
