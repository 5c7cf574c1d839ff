//! Writes that are not commits: they take no position, and nobody's snapshot sees them.

use std::sync::Arc;

use sqlx::{Connection as _, QueryBuilder};
use sqlx_sqlite::{Sqlite, SqliteConnection};

use super::{OutcomeRow, identity, job::JobChore};
use crate::clock::Timestamp;
use crate::entity::{Key, Path, Position};
use crate::id::EntityId;
use crate::storage::{EntityRow, IdentityChange, IndexRow, IndexState, ModelRow};

const INDEX_ADD: &str = include_str!("sql/index_add.sql");
const INDEX_DECLARE: &str = include_str!("sql/index_declare.sql");
const INDEX_DROP: &str = include_str!("sql/index_drop.sql");
const INDEX_EMPTY: &str = include_str!("sql/index_empty.sql");
const INDEX_FILLED: &str = include_str!("sql/index_filled.sql");
const INDEX_FORGET: &str = include_str!("sql/index_forget.sql");
const INDEX_USED: &str = include_str!("sql/index_used.sql");
const INDEX_UNDECLARE: &str = include_str!("sql/index_undeclare.sql");

/// How many keys one statement adds.
const KEYS_AT_ONCE: usize = 512;

/// How many keys are removed in one go.
const REMOVED_AT_ONCE: i64 = 2_000;

/// Something to be written between two batches, in a transaction of its own.
#[derive(Debug)]
pub(in crate::storage) enum Upkeep {
    /// Replaces the declared indexes of a model.
    DeclareIndexes {
        model: ModelRow,
        paths: Vec<Path>,
    },
    /// Makes an index that nobody declared, unless there are so many of them.
    AddIndex {
        model: ModelRow,
        path: Path,
        max: u32,
        now: Timestamp,
    },
    /// Drops one that nobody declared.
    DropIndex {
        index: IndexRow,
    },
    /// Remembers when one was used.
    Used {
        index: IndexRow,
        used: Timestamp,
    },
    /// Adds the keys of entities that are still as they were read; having reached no entity, the
    /// index is ready.
    Fill {
        index: IndexRow,
        keys: Vec<FilledKey>,
        reached: Option<EntityId>,
    },
    /// Removes some keys of a dropped index; answers how many, and forgets it after the last.
    Empty {
        index: IndexRow,
    },
    Job(JobChore),
    /// Changes who may call.
    Identities(Arc<[IdentityChange]>),
}

/// A key of an entity as of a position.
#[derive(Debug)]
pub(in crate::storage) struct FilledKey {
    pub(in crate::storage) key: Key,
    pub(in crate::storage) entity: EntityRow,
    pub(in crate::storage) position: Position,
}

impl Upkeep {
    /// Whether it changes which indexes there are, or what can be done with them.
    pub(in crate::storage) const fn changes_indexes(&self) -> bool {
        match self {
            Self::DeclareIndexes { .. }
            | Self::AddIndex { .. }
            | Self::DropIndex { .. }
            | Self::Empty { .. } => true,
            Self::Fill { reached, .. } => reached.is_none(),
            Self::Used { .. } | Self::Job(_) | Self::Identities(_) => false,
        }
    }

    /// What is remembered of a request that is to be done once.
    pub(in crate::storage) const fn outcome(&self) -> Option<&OutcomeRow> {
        match self {
            Self::Job(chore) => chore.outcome(),
            Self::DeclareIndexes { .. }
            | Self::AddIndex { .. }
            | Self::DropIndex { .. }
            | Self::Used { .. }
            | Self::Fill { .. }
            | Self::Empty { .. }
            | Self::Identities(_) => None,
        }
    }

    /// Does it; how many rows that took.
    pub(super) async fn write(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<u64, sqlx::Error> {
        let mut transaction = connection.begin_with("begin immediate").await?;
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
                    add_keys(*index, part)
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
            Self::Identities(changes) => identity::write(connection, changes).await?,
        };
        transaction.commit().await?;
        Ok(rows)
    }
}

/// Adds keys of entities, unless these have moved meanwhile: whoever moved them saw to the keys.
fn add_keys(index: IndexRow, keys: &[FilledKey]) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("insert or ignore into search_key(p, key, e) select ");
    query.push_bind(index.0);
    query.push(", v.column1, v.column2 from (");
    query.push_values(keys, |mut row, key| {
        row.push_bind(key.key.as_bytes())
            .push_bind(key.entity.0)
            .push_bind(key.position.0);
    });
    query.push(") v where exists(select 1 from entity where e = v.column2 and n = v.column3)");
    query
}
