//! Reads a page of the result of a background search (`search.md` §6).

use std::vec;

use futures_util::stream;

use super::{
    Access, Answers, Context, Events, Family, Operation, Output, answer::events,
    list_entities::PageAsked,
};
use crate::entity::Image;
use crate::error::Failure;
use crate::event::{
    EventType,
    payload::{
        self,
        search::{self, snapshot_id},
    },
};
use crate::id::JobId;
use crate::search::JobPage;

const PAGE_SIZE: i64 = 10;

pub(super) struct SearchResults {
    id: JobId,
    page: PageAsked,
}

impl Operation for SearchResults {
    type Payload = search::SnapshotPage;
    type Answer = search::Entity;

    const REQUEST: EventType = EventType::SnapshotGetRequest;
    const RESPONSE: EventType = EventType::EntityResponse;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Many;
    const ACCESS: Access = Access::Read;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::SnapshotPage = payload::decode(payload)?;
        Ok(Self {
            id: snapshot_id(&request.snapshot_id)?,
            page: PageAsked::read(request.page_number, request.page_size, PAGE_SIZE)?,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let PageAsked { number, size } = self.page;
        let tenant = &cx.caller().tenant;
        let (job, page) = cx.jobs().page(tenant, self.id, number, size).await?;
        let which = search::Page::new(number, size, job.count);
        Ok(Output::Page(sent(cx, page), which))
    }
}

/// The entities of a page as events, read as they are sent.
fn sent(cx: Context, page: JobPage) -> Events {
    let start = (cx, page, Vec::<Image>::new().into_iter());
    let next = |(cx, mut page, mut ready): (Context, JobPage, vec::IntoIter<Image>)| async move {
        loop {
            if let Some(image) = ready.next() {
                let entity = search::Entity::new(image, None);
                return Ok(Some((entity, (cx, page, ready))));
            }
            if cx.cancel().is_cancelled() {
                return Err(Failure::cancelled());
            }
            match page.next().await? {
                Some(images) => ready = images.into_iter(),
                None => return Ok(None),
            }
        }
    };
    events(stream::try_unfold(start, next))
}
