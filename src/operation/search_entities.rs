//! Searches the entities of a model (`search.md` §5).

use std::sync::Arc;

use futures_util::stream;

use super::{
    Access, Answers, Context, Events, Family, Operation, Output,
    ahead::{Ahead, Parts},
    answer::events,
    bounds::within,
    conditions::{compile, in_time},
};
use crate::clock::PointInTime;
use crate::condition::{self, Condition};
use crate::entity::Image;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{self, entity::point_in_time, search},
};
use crate::id::ModelKey;
use crate::runtime::Session;
use crate::search::{Excess, Found, Hits, Order, Outgoing, Query, SortKey, View, find};
use crate::storage::Definitions;

const LIMIT: i64 = 1_000;
const LIMIT_MAX: i64 = 10_000;

pub(super) struct SearchEntities {
    model: ModelKey,
    condition: Arc<Condition>,
    order: Order,
    limit: usize,
    /// What becomes of more; none where a limit says so alone, by the profile.
    excess: Option<Excess>,
    then: Option<PointInTime>,
    tracking: bool,
}

impl Operation for SearchEntities {
    type Payload = search::Search<'static>;
    type Answer = search::Entity;

    const REQUEST: EventType = EventType::EntitySearchRequest;
    const RESPONSE: EventType = EventType::EntityResponse;
    const FAMILY: Family = Family::Search;
    const ANSWERS: Answers = Answers::Many;
    const ACCESS: Access = Access::Read;
    const HAS_CONDITION: bool = true;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let request: search::Search<'_> = payload::decode(payload)?;
        let (condition, (order, limit)) = condition_around(request.condition.get(), || {
            let order = order(request.order_by)?;
            let limit = within("limit", request.limit.unwrap_or(LIMIT), 1..=LIMIT_MAX)?;
            Ok((order, limit))
        })?;
        Ok(Self {
            model: request.model.into(),
            condition: condition.into(),
            order,
            limit,
            excess: match (request.limit_exceeded, request.limit) {
                (Some(search::LimitExceeded::Fail), _) | (None, None) => Some(Excess::Refused),
                (Some(search::LimitExceeded::Truncate), _) => Some(Excess::CutOff),
                (None, Some(_)) => None,
            },
            then: point_in_time(request.point_in_time.as_deref())?,
            tracking: request.tracking_read == Some(true),
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let hits = self.find(&cx).await?.hits;
        Ok(Output::Many(stream_of(cx, hits, None)))
    }
}

impl SearchEntities {
    /// Finds what is looked for, and remembers to have seen it if that was asked for.
    pub(super) async fn find(&self, cx: &Context) -> Result<Found, Failure> {
        self.order.check_count(cx.sort_keys_max())?;
        compile(cx, &self.condition).await?;
        let mut session = cx.session().await?;
        let definitions = cx.definitions_in(&mut session, &self.model).await?;
        check_order(cx, &self.order)?;
        let view = view(cx, &mut session, &definitions, self.then.as_ref()).await?;
        let query = Query {
            definitions: &definitions,
            condition: &self.condition,
            undeclared: cx.runtime().undeclared(&definitions),
            order: &self.order,
            limit: self.limit,
            excess: self.excess.unwrap_or_else(|| {
                if cx.runtime().compat().limits_refuse() {
                    Excess::Refused
                } else {
                    Excess::CutOff
                }
            }),
        };
        let found = in_time(cx, find(view, &query)).await?;
        if self.tracking && session.has_joined() && self.then.is_none() {
            for (id, position) in found.hits.seen() {
                session.unit()?.track(id, Some(position))?;
            }
        }
        session.finish(cx.cancel()).await?;
        Ok(found)
    }

    pub(super) const fn model(&self) -> &ModelKey {
        &self.model
    }

    pub(super) fn condition(&self) -> &Condition {
        &self.condition
    }
}

/// Reads what is looked for.
pub(super) fn condition(text: &str) -> Result<Condition, Failure> {
    Condition::parse(text).map_err(rejected)
}

/// Reads what is looked for, and `others` of the request: they are checked after the form of the
/// condition and before its operators (`search.md` §4).
pub(super) fn condition_around<T>(
    text: &str,
    others: impl FnOnce() -> Result<T, Failure>,
) -> Result<(Condition, T), Failure> {
    match Condition::parse(text) {
        Ok(condition) => Ok((condition, others()?)),
        Err(error) if error.is_of_form() => Err(rejected(error)),
        Err(error) => Err(others().err().unwrap_or_else(|| rejected(error))),
    }
}

fn rejected(error: condition::Error) -> Failure {
    let failure = Failure::from(error);
    // What cannot be parsed is a malformed request (`grpc.md` §14).
    if failure.code() == Code::BadRequest {
        failure.in_request()
    } else {
        failure
    }
}

/// Reads what is sorted by.
pub(super) fn order(keys: Option<Vec<search::OrderBy>>) -> Result<Order, Failure> {
    let keys = keys.unwrap_or_default().into_iter().map(|key| {
        let key = match key {
            search::OrderBy::Text(text) => return SortKey::parse(&text),
            search::OrderBy::Key(key) => key,
        };
        let descending = key.desc == Some(true);
        match key.source {
            None => SortKey::named(&key.path, descending),
            Some(search::OrderSource::Data) => SortKey::field(&key.path, descending),
            Some(search::OrderSource::Meta) => SortKey::meta(&key.path, descending),
        }
    });
    Ok(Order::new(keys.collect::<Result<_, _>>()?)?)
}

/// Refuses an order that only other profiles know.
pub(super) fn check_order(cx: &Context, order: &Order) -> Result<(), Failure> {
    if cx.runtime().compat().elements_may_sort() {
        return Ok(());
    }
    Ok(order.check_elements()?)
}

/// What a read of many sees: a time, a transaction it has joined, or now.
pub(super) async fn view(
    cx: &Context,
    session: &mut Session,
    definitions: &Arc<Definitions>,
    then: Option<&PointInTime>,
) -> Result<View, Failure> {
    let tenant = &cx.caller().tenant;
    if let Some(then) = then {
        let at = cx.storage().at(then).await?;
        return Ok(View::as_of(cx.storage().snapshot(tenant, at).await?));
    }
    if session.has_joined() {
        return Ok(View::of(session.unit()?, definitions).await?);
    }
    Ok(View::current(
        cx.storage().snapshot(tenant, cx.storage().latest()).await?,
    ))
}

/// What was found, as events, read as they are sent.
pub(super) fn stream_of(cx: Context, hits: Hits, asked: Option<PointInTime>) -> Events {
    struct Sending {
        cx: Context,
        images: Ahead<Outgoing>,
        asked: Option<PointInTime>,
    }
    let start = Sending {
        cx,
        images: Ahead::of(hits.into_outgoing()),
        asked,
    };
    events(stream::try_unfold(start, |mut sending| async move {
        let cx = &sending.cx;
        let given_up = async {
            cx.cancel().cancelled().await;
            Failure::cancelled()
        };
        let Some(image) = sending.images.next(given_up).await? else {
            return Ok(None);
        };
        let entity = search::Entity::new(image, sending.asked.as_ref());
        Ok(Some((entity, sending)))
    }))
}

impl Parts for Outgoing {
    type Item = Image;

    async fn next(&mut self) -> Result<Option<Vec<Image>>, Failure> {
        Self::next(self).await
    }

    fn is_over(&self) -> bool {
        self.is_empty()
    }
}
