//! Writes that are not commits of units. What batches are validated by is changed as a link of the
//! chain: a commit that holds no unit.

use sqlx::Connection as _;
use sqlx_postgres::PgConnection;

use super::{identity, job, link, news::News, run::numbers};
use crate::id::EntityId;
use crate::storage::port::{FilledKey, IndexRow, IndexState, KeptUp, Link, Upkeep};

const INDEX_ADD: &str = include_str!("sql/index_add.sql");
const INDEX_ADD_KEYS: &str = include_str!("sql/index_add_keys.sql");
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

/// Does it in a transaction of its own, unless it is to follow a commit that is not the newest one.
pub(super) async fn write(
    upkeep: &Upkeep,
    link: Option<&Link>,
    connection: &mut PgConnection,
) -> Result<KeptUp, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let kept = write_within(upkeep, link, &mut transaction).await?;
    if let KeptUp::Done(_) = kept {
        transaction.commit().await?;
    }
    Ok(kept)
}

/// What was written is to be undone if what it removes is not all there.
async fn write_within(
    upkeep: &Upkeep,
    link: Option<&Link>,
    connection: &mut PgConnection,
) -> Result<KeptUp, sqlx::Error> {
    if let Some(link) = link {
        let (news, revises) = (News::of_upkeep(upkeep), link.revises);
        if !link::put(connection, link.follows, &link.commit, news, revises).await? {
            return Ok(KeptUp::Overtaken);
        }
    }
    let rows = match upkeep {
        Upkeep::DeclareIndexes { model, paths } => {
            let list: Vec<String> = paths.iter().map(ToString::to_string).collect();
            sqlx::query(INDEX_UNDECLARE)
                .bind(model.0)
                .bind(&list)
                .execute(&mut *connection)
                .await?;
            let declared = sqlx::query(INDEX_DECLARE).bind(model.0).bind(&list);
            declared.execute(connection).await?.rows_affected()
        }
        Upkeep::AddIndex {
            model,
            path,
            max,
            now,
        } => {
            let added = sqlx::query(INDEX_ADD).bind(model.0).bind(path.to_string());
            let added = added.bind(now.micros()).bind(i64::from(*max));
            added.execute(connection).await?.rows_affected()
        }
        Upkeep::Used { index, used } => {
            let noted = sqlx::query(INDEX_USED).bind(index.0).bind(used.micros());
            noted.execute(connection).await?.rows_affected()
        }
        Upkeep::DropIndex { index } => {
            let dropped = sqlx::query(INDEX_DROP).bind(index.0);
            dropped.execute(connection).await?.rows_affected()
        }
        Upkeep::Fill {
            index,
            keys,
            reached,
        } => {
            add_keys(&mut *connection, *index, keys).await?;
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
        Upkeep::Empty { index } => {
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
        Upkeep::Job(chore) => job::write(chore, connection).await?,
        Upkeep::Identities { changes, .. } => identity::write(connection, changes).await?,
        Upkeep::ForgetRunEvents { .. }
        | Upkeep::ForgetRuns { .. }
        | Upkeep::ForgetTopicEvents { .. } => match forget(upkeep, connection).await? {
            Some(rows) => rows,
            None => return Ok(KeptUp::Gone),
        },
    };
    Ok(KeptUp::Done(rows))
}

/// Removes what is old; how many rows that took. None if it is not all there.
async fn forget(
    upkeep: &Upkeep,
    connection: &mut PgConnection,
) -> Result<Option<u64>, sqlx::Error> {
    let (rows, is_all) = match upkeep {
        Upkeep::ForgetRunEvents { events, .. } => {
            let list: Vec<i64> = events.iter().map(|position| position.0).collect();
            let forgotten = sqlx::query(RUN_FORGET_EVENTS).bind(list);
            let rows = forgotten.execute(connection).await?.rows_affected();
            (rows, usize::try_from(rows) == Ok(events.len()))
        }
        Upkeep::ForgetRuns { runs, .. } => {
            let list = numbers(runs);
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
                rows = forgotten.execute(&mut *connection).await?.rows_affected();
            }
            (rows, usize::try_from(rows) == Ok(runs.len()))
        }
        Upkeep::ForgetTopicEvents {
            until,
            before,
            freed,
        } => {
            let forgotten = sqlx::query_as(TOPIC_FORGET).bind(until);
            let forgotten = forgotten.bind(before.micros()).fetch_one(connection);
            let (rows, bytes): (i64, i64) = forgotten.await?;
            let listed: i64 = freed.iter().map(|(.., bytes)| bytes).sum();
            (rows.unsigned_abs(), bytes == listed)
        }
        Upkeep::DeclareIndexes { .. }
        | Upkeep::AddIndex { .. }
        | Upkeep::DropIndex { .. }
        | Upkeep::Used { .. }
        | Upkeep::Fill { .. }
        | Upkeep::Empty { .. }
        | Upkeep::Job(_)
        | Upkeep::Identities { .. } => (0, true),
    };
    Ok(is_all.then_some(rows))
}

/// Adds the keys of entities that are still as they were read.
async fn add_keys(
    connection: &mut PgConnection,
    index: IndexRow,
    keys: &[FilledKey],
) -> Result<(), sqlx::Error> {
    for part in keys.chunks(KEYS_AT_ONCE) {
        let values: Vec<&[u8]> = part.iter().map(|key| key.key.as_bytes()).collect();
        let entities: Vec<i64> = part.iter().map(|key| key.entity.0).collect();
        let positions: Vec<i64> = part.iter().map(|key| key.position.0).collect();
        sqlx::query(INDEX_ADD_KEYS)
            .bind(index.0)
            .bind(values)
            .bind(entities)
            .bind(positions)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
