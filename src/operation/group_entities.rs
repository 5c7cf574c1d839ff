//! Grouped statistics: how many entities there are by state or by what they hold, and sums over
//! them (`search.md` §8).

use std::sync::Arc;

use super::{
    Access, Context, Family, Operation, Output,
    conditions::{READ_AT_ONCE, compile, in_time, reading},
    delete_entities::bad_condition,
    search_entities::view,
};
use crate::clock::PointInTime;
use crate::condition::Condition;
use crate::error::{Code, Failure};
use crate::event::{
    EventType,
    payload::{
        self,
        entity::point_in_time,
        statistics::{self, Aggregated, Bucket, Buckets, GroupKey},
    },
};
use crate::id::ModelKey;
use crate::search::{Aggregation, GroupBy, GroupError, Grouping, group};

pub(super) struct GroupEntities {
    model: ModelKey,
    by: Vec<GroupBy>,
    aggregations: Vec<Aggregation>,
    limit: Option<i64>,
    /// Parsed only once everything else is known to be right.
    condition: Option<Box<str>>,
    then: Option<PointInTime>,
}

impl Operation for GroupEntities {
    type Payload = statistics::Query<'static>;
    type Answer = Buckets;

    const REQUEST: EventType = EventType::EntityStatsQueryRequest;
    const RESPONSE: EventType = EventType::EntityStatsQueryResponse;
    const FAMILY: Family = Family::Search;
    const ACCESS: Access = Access::Read;
    const HAS_CONDITION: bool = true;

    fn parse(payload: &str) -> Result<Self, Failure> {
        let malformed =
            |failure: Failure| Failure::new(Code::MalformedRequest, failure.message()).in_request();
        let query: statistics::Query<'_> = payload::decode(payload).map_err(malformed)?;
        let then = point_in_time(query.point_in_time.as_deref()).map_err(malformed)?;
        let by = query.group_by.unwrap_or_default();
        if by.is_empty() {
            return Err(GroupError::NoGroupBy.into());
        }
        let by = by.iter().map(|path| GroupBy::parse(path));
        let by = by.collect::<Result<_, _>>()?;
        let aggregations = query.aggregations.unwrap_or_default();
        let aggregations = aggregations.iter().map(|given| {
            Aggregation::parse(
                given.op.as_deref().unwrap_or_default(),
                given.field.as_deref().unwrap_or_default(),
                given.name.as_deref(),
            )
        });
        Ok(Self {
            model: query.model.into(),
            by,
            aggregations: aggregations.collect::<Result<_, _>>()?,
            limit: query.limit,
            condition: query.condition.map(|condition| condition.get().into()),
            then,
        })
    }

    async fn run(self, cx: Context) -> Result<Output<Self::Answer>, Failure> {
        let grouping = Grouping::new(self.by, self.aggregations, self.limit, cx.groups_max())?;
        let definitions = cx.definitions(&self.model).await?;
        let condition = match self.condition {
            Some(given) if given.len() > READ_AT_ONCE => {
                reading(&cx, move || Condition::parse(&given)).await?
            }
            Some(given) => Condition::parse(&given),
            None => Ok(Condition::everything()),
        };
        let condition = condition.map_err(bad_condition)?;
        let condition = Arc::new(condition);
        compile(&cx, &condition).await?;
        // Fields are not looked up in the model: those that are unknown are those that are missing.
        condition.check_patterns()?;
        condition.check_times()?;
        let mut session = cx.session().await?;
        let view = view(&cx, &mut session, &definitions, self.then.as_ref()).await?;
        let groups = in_time(&cx, group(view, &definitions, &condition, &grouping)).await?;
        session.finish(cx.cancel()).await?;
        let paths: Vec<Arc<str>> = grouping
            .by
            .iter()
            .map(|path| path.to_string().into())
            .collect();
        let names: Vec<Arc<str>> = grouping
            .aggregations
            .iter()
            .map(|one| (&*one.name).into())
            .collect();
        let buckets = groups.into_iter().map(|group| {
            let keys = paths.iter().cloned().zip(group.key);
            let keys = keys.map(|(path, value)| GroupKey { path, value });
            let numbers = names.iter().cloned().zip(group.numbers);
            Bucket {
                group_key: keys.collect(),
                count: group.count,
                aggregations: (!names.is_empty()).then(|| Aggregated(numbers.collect())),
            }
        });
        Ok(Output::one(Buckets {
            buckets: buckets.collect(),
        }))
    }
}
