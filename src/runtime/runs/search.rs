//! Steps that search for entities (`runs.md` §6).

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::entity::{Model, malformed, read, shown};
use crate::condition::Condition;
use crate::error::{Code, Failure};
use crate::id::ModelKey;
use crate::pool::Pool;
use crate::runtime::{Error, Initiator, Runtime, Session};
use crate::search::{Excess, Order, Outgoing, Query, SORT_KEYS_MAX, SortKey, View, find};
use crate::storage::Definitions;

const LIMIT: i64 = 100;
const LIMIT_MAX: i64 = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input<'a> {
    model: Model,
    #[serde(borrow)]
    condition: &'a RawValue,
    limit: Option<i64>,
    order_by: Option<Vec<Key>>,
}

/// A sort key, in the two forms of a search.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a sort key must be `{path, source?, desc?}`, or a text like `path:desc`"
)]
enum Key {
    Named {
        path: String,
        source: Option<Source>,
        desc: Option<bool>,
    },
    Text(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Data,
    Meta,
}

/// A search that is well formed.
struct Wanted {
    model: ModelKey,
    condition: Arc<Condition>,
    order: Order,
    limit: usize,
}

impl Runtime {
    /// The entities that a step looks for, as its output. It sees what its transaction sees: what
    /// was committed when that began, and what the run has written in it.
    pub(super) async fn search_for(
        &self,
        session: &mut Session,
        by: &Initiator,
        input: &str,
    ) -> Result<Arc<str>, Failure> {
        let wanted = Wanted::read(input)?;
        let definitions = self.definitions(session, &wanted.model).await?;
        if !self.compat().elements_may_sort() {
            wanted.order.check_elements()?;
        }
        let view = View::of(session.unit()?, &definitions).await?;
        session.leave_slot_alone();
        let found = self.find_in(view, by, &definitions, &wanted).await;
        session.take_slot().await;
        found
    }

    async fn find_in(
        &self,
        view: View,
        by: &Initiator,
        definitions: &Arc<Definitions>,
        wanted: &Wanted,
    ) -> Result<Arc<str>, Failure> {
        // A search of a run takes its tenant's turn, so that the searches of many runs leave
        // connections to requests.
        let turn = self.storage().long_read(definitions);
        let turn = by.cancel.run_until_cancelled(turn).await;
        let _turn = turn.ok_or(Error::Cancelled)?;
        let found = async {
            compile(definitions, &wanted.condition).await;
            let query = Query {
                definitions,
                condition: &wanted.condition,
                undeclared: self.undeclared(definitions),
                order: &wanted.order,
                limit: wanted.limit,
                excess: Excess::CutOff,
            };
            let hits = find(view, &query).await?.hits;
            self.listed(hits.into_outgoing()).await
        };
        let limit = self.0.settings.runs.search_timeout;
        tokio::select! {
            found = timeout(limit, Box::pin(found)) => found.unwrap_or_else(|_| {
                Err(Failure::new(
                    Code::SearchTimeout,
                    format!(
                        "the search took longer than {limit:?} (INTERLOCK_SEARCH_TIMEOUT); narrow \
                         the condition, or declare an index for it"
                    ),
                ))
            }),
            () = by.cancel.cancelled() => Err(Error::Cancelled.into()),
        }
    }

    /// Lists what was found, as far as an output may be large.
    async fn listed(&self, mut found: Outgoing) -> Result<Arc<str>, Failure> {
        let max = self.0.settings.runs.limits.payload_max;
        let mut entities = String::new();
        let mut count = 0_usize;
        while let Some(images) = found.next().await? {
            for image in images {
                if count > 0 {
                    entities.push(',');
                }
                entities.push_str(&shown(&image));
                count += 1;
            }
            if entities.len() > max {
                return Err(Failure::new(
                    Code::SearchResultLimit,
                    format!(
                        "the entities take more than {max} bytes (INTERLOCK_RUNS_MAX_INPUT_BYTES); \
                         narrow the condition or lower the limit"
                    ),
                ));
            }
        }
        Ok(format!("{{\"count\":{count},\"entities\":[{entities}]}}").into())
    }
}

impl Wanted {
    fn read(input: &str) -> Result<Self, Failure> {
        let input: Input<'_> = read(input)?;
        let limit = input.limit.unwrap_or(LIMIT);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(malformed(format!("limit is {limit}; use 1 to {LIMIT_MAX}")));
        }
        let keys = input.order_by.unwrap_or_default().into_iter();
        let keys = keys.map(Key::into_key).collect::<Result<_, _>>()?;
        let condition = Condition::parse(input.condition.get())?.into();
        let order = Order::new(keys)?;
        order.check_count(SORT_KEYS_MAX)?;
        Ok(Self {
            model: input.model.into_key(),
            condition,
            order,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        })
    }
}

impl Key {
    fn into_key(self) -> Result<SortKey, Failure> {
        Ok(match self {
            Self::Text(text) => SortKey::parse(&text),
            Self::Named { path, source, desc } => {
                let descending = desc == Some(true);
                match source {
                    None => SortKey::named(&path, descending),
                    Some(Source::Data) => SortKey::field(&path, descending),
                    Some(Source::Meta) => SortKey::meta(&path, descending),
                }
            }
        }?)
    }
}

/// Compiles the patterns of a condition, on another thread if that takes long.
async fn compile(definitions: &Definitions, condition: &Arc<Condition>) {
    if condition.is_to_be_compiled() {
        let condition = Arc::clone(condition);
        Pool::for_reading()
            .run(definitions.party(), move |stop| condition.compile(stop))
            .await;
    }
}
