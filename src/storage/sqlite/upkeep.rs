//! Writes that are not commits: they take no position, and nobody's snapshot sees them.

use sqlx::Connection as _;
use sqlx_sqlite::SqliteConnection;

use super::{identity, read::json_list, script::BEGIN, statement};
use crate::id::EntityId;
use crate::storage::port::{IndexState, Upkeep};

const INDEX_ADD: &str = include_str!("sql/index_add.sql");
const INDEX_DECLARE: &str = include_str!("sql/index_declare.sql");
const INDEX_DROP: &str = include_str!("sql/index_drop.sql");
const INDEX_EMPTY: &str = include_str!("sql/index_empty.sql");
const INDEX_FILLED: &str = include_str!("sql/index_filled.sql");
const INDEX_FORGET: &str = include_str!("sql/index_forget.sql");
const INDEX_USED: &str = include_str!("sql/index_used.sql");
const INDEX_UNDECLARE: &str = include_str!("sql/index_undeclare.sql");
const RUN_FORGET: &str = include_str!("sql/run_forget.sql");
const RUN_FORGET_AWAITED: &str = include_str!("sql/run_forget_awaited.sql");
const RUN_FORGET_EVENTS: &str = include_str!("sql/run_forget_events.sql");
const RUN_FORGET_KEYS: &str = include_str!("sql/run_forget_keys.sql");
const RUN_FORGET_REST: &str = include_str!("sql/run_forget_rest.sql");
const RUN_FORGET_TIMERS: &str = include_str!("sql/run_forget_timers.sql");
const TOPIC_FORGET: &str = include_str!("sql/topic_forget.sql");

/// How many keys one statement adds.
const KEYS_AT_ONCE: usize = 512;

/// How many keys are removed in one go.
const REMOVED_AT_ONCE: i64 = 2_000;

impl Upkeep {
    /// Does it; how many rows that took.
    pub(super) async fn write(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<u64, sqlx::Error> {
        let mut transaction = connection.begin_with(BEGIN).await?;
        let connection = &mut *transaction;
        let rows = match self {
            Self::DeclareIndexes { model, paths } => {
                let list = serde_json::to_string(
                    &paths.iter().map(ToString::to_string).collect::<Vec<_>>(),
                )
                .unwrap_or_default();
                sqlx::query(INDEX_UNDECLARE)
                    .bind(model.0)
                    .bind(&list)
                    .execute(&mut *connection)
                    .await?;
                let declared = sqlx::query(INDEX_DECLARE).bind(model.0).bind(&list);
                declared.execute(connection).await?.rows_affected()
            }
            Self::AddIndex {
                model,
                path,
                max,
                now,
            } => {
                let added = sqlx::query(INDEX_ADD).bind(model.0).bind(path.to_string());
                let added = added.bind(now.micros()).bind(max);
                added.execute(connection).await?.rows_affected()
            }
            Self::Used { index, used } => {
                let noted = sqlx::query(INDEX_USED).bind(index.0).bind(used.micros());
                noted.execute(connection).await?.rows_affected()
            }
            Self::DropIndex { index } => {
                let dropped = sqlx::query(INDEX_DROP).bind(index.0);
                dropped.execute(connection).await?.rows_affected()
            }
            Self::Fill {
                index,
                keys,
                reached,
            } => {
                for part in keys.chunks(KEYS_AT_ONCE) {
                    statement::add_keys(*index, part)
                        .build()
                        .execute(&mut *connection)
                        .await?;
                }
                let state = if reached.is_none() {
                    IndexState::Ready
                } else {
                    IndexState::Filling
                };
                let filled = sqlx::query(INDEX_FILLED)
                    .bind(index.0)
                    .bind(state.code())
                    .bind(reached.map(EntityId::uuid));
                filled.execute(connection).await?.rows_affected()
            }
            Self::Empty { index } => {
                let removed = sqlx::query(INDEX_EMPTY)
                    .bind(index.0)
                    .bind(REMOVED_AT_ONCE)
                    .execute(&mut *connection)
                    .await?
                    .rows_affected();
                if removed == 0 {
                    let forgotten = sqlx::query(INDEX_FORGET).bind(index.0);
                    forgotten.execute(connection).await?;
                }
                removed
            }
            Self::Job(chore) => chore.write(connection).await?,
            Self::Identities { changes, .. } => identity::write(connection, changes).await?,
            Self::ForgetRunEvents { events, .. } => {
                let list = json_list(events.iter().map(|position| position.0));
                let forgotten = sqlx::query(RUN_FORGET_EVENTS).bind(list);
                forgotten.execute(connection).await?.rows_affected()
            }
            Self::ForgetRuns { runs, .. } => {
                let list = json_list(runs.iter().map(|run| run.number()));
                let mut rows = 0;
                // The runs last: the others are found by them.
                for text in [
                    RUN_FORGET_KEYS,
                    RUN_FORGET_AWAITED,
                    RUN_FORGET_REST,
                    RUN_FORGET_TIMERS,
                    RUN_FORGET,
                ] {
                    let forgotten = sqlx::query(text).bind(&list);
                    rows += forgotten.execute(&mut *connection).await?.rows_affected();
                }
                rows
            }
            Self::ForgetTopicEvents { until, before, .. } => {
                let forgotten = sqlx::query(TOPIC_FORGET).bind(until).bind(before.micros());
                forgotten.execute(connection).await?.rows_affected()
            }
        };
        transaction.commit().await?;
        Ok(rows)
    }
}
