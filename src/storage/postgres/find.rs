//! Indexes, and looking entities up by their keys, or by their states.

use sqlx::{FromRow as _, Row as _};
use sqlx_postgres::PgRow;

use super::{
    Postgres,
    many::{first_after, placed},
    statement::{self, Statement},
};
use crate::entity::{Json, Key, Position, Sequence};
use crate::id::{EntityId, StateName};
use crate::storage::{
    port::{
        EntityRow, Error, Index, Indexable, Keyed, Leaving, ModelRow, Ordered, Probe, Stretch,
        TenantRow, Version,
    },
    rows::{IndexData, PART_BYTES, PART_BYTES_BOUND, VersionRow, from_row_of},
};

const ENTITY_MODELS: &str = include_str!("sql/entity_models.sql");
const INDEX_LEAVING: &str = include_str!("sql/index_leaving.sql");
const INDEX_LIST: &str = include_str!("sql/index_list.sql");
const INDEX_SOURCE: &str = include_str!("sql/index_source.sql");
const MODEL_ENDS: &str = include_str!("sql/model_ends.sql");

/// An entity, and where an index has it.
#[derive(Debug)]
struct KeyedRow {
    key: Vec<u8>,
    version: VersionRow,
}

from_row_of! { PgRow, KeyedRow { key, ..version } }

/// Rows of entities, as an array.
fn numbers(entities: &[EntityRow]) -> Vec<i64> {
    entities.iter().map(|entity| entity.0).collect()
}

impl Postgres {
    /// How many entities each group of probes finds, as far as is counted.
    pub(in crate::storage) async fn count_found(
        &self,
        model: ModelRow,
        groups: &[&[Probe]],
        limit: i64,
    ) -> Result<Vec<i64>, Error> {
        let mut query = statement::count_found(model, groups, limit);
        let rows: Vec<(i64, i64)> = query.build_query_as().fetch_all(&self.reads).await?;
        Ok(rows.into_iter().map(|(_, found)| found).collect())
    }

    /// The entities that any of the probes finds, as they are; none if there are more than
    /// `limit`, or if one is large.
    pub(in crate::storage) async fn look_up(
        &self,
        tenant: TenantRow,
        model: ModelRow,
        probes: &[Probe],
        limit: i64,
    ) -> Result<Option<Vec<Version>>, Error> {
        let mut query = statement::look_up(model, probes, limit);
        let rows: Vec<VersionRow> = query.build_query_as().fetch_all(&self.reads).await?;
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        if rows.len() > most || rows.iter().any(|row| !row.has_document()) {
            return Ok(None);
        }
        let rows = rows.into_iter();
        Ok(Some(rows.map(|row| row.version(tenant)).collect()))
    }

    /// The next entities of a stretch of an index; fewer if they are more than fits a part.
    pub(in crate::storage) async fn in_order(
        &self,
        tenant: TenantRow,
        stretch: Stretch,
    ) -> Result<Ordered, Error> {
        let mut query = statement::in_order(&stretch);
        let rows = query.build().fetch_all(&self.reads).await?;
        let newest: Option<i64> = match rows.first() {
            Some(row) => row.try_get("newest")?,
            None => None,
        };
        let (mut found, mut bytes) = (Vec::with_capacity(rows.len()), 0);
        for row in &rows {
            if row.try_get::<Option<i64>, _>("n")?.is_none() {
                continue;
            }
            let row = KeyedRow::from_row(row)?;
            let version = row.version.version(tenant);
            bytes += version.image.document.as_str().len();
            let keyed = Keyed {
                key: Key::from_bytes(row.key),
                row: version.row,
            };
            found.push((keyed, version));
        }
        // A join promises no order of its own.
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        if stretch.descending {
            found.reverse();
        }
        Ok(Ordered {
            goes_on: bytes > PART_BYTES || found.len() >= stretch.limit,
            found,
            newest: newest.map(Position),
        })
    }

    /// The current versions of the entities that any of the probes finds, `limit` at most, in the
    /// order of their ids.
    pub(in crate::storage) async fn found(
        &self,
        model: ModelRow,
        probes: &[Probe],
        limit: i64,
    ) -> Result<Vec<(EntityId, Position)>, Error> {
        self.positions_of(statement::found(model, probes, limit))
            .await
    }

    /// The versions as of a sequence of the entities that any of the probes finds now or that have
    /// moved since, `limit` at most, in the order of their ids.
    pub(in crate::storage) async fn found_as_of(
        &self,
        model: ModelRow,
        probes: &[Probe],
        at: Sequence,
        limit: i64,
    ) -> Result<Vec<(EntityId, Position)>, Error> {
        self.positions_of(statement::found_as_of(model, probes, at, limit))
            .await
    }

    async fn positions_of(&self, mut query: Statement) -> Result<Vec<(EntityId, Position)>, Error> {
        Ok(placed(query.build_query_as().fetch_all(&self.reads).await?))
    }

    /// All indexes there are.
    pub(in crate::storage) async fn indexes(&self) -> Result<Vec<Index>, Error> {
        let rows: Vec<IndexData> = sqlx::query_as(INDEX_LIST).fetch_all(&self.reads).await?;
        rows.into_iter().map(Index::try_from).collect()
    }

    /// The next entities of a model, to be put into an index; fewer if they are more than fits a
    /// part.
    pub(in crate::storage) async fn to_index(
        &self,
        model: ModelRow,
        after: Option<EntityId>,
        limit: i64,
    ) -> Result<Vec<Indexable>, Error> {
        let rows: Vec<(i64, uuid::Uuid, i64, String, String)> = sqlx::query_as(INDEX_SOURCE)
            .bind(model.0)
            .bind(first_after(after))
            .bind(limit)
            .bind(PART_BYTES_BOUND)
            .fetch_all(&self.reads)
            .await?;
        let rows = rows.into_iter().map(|(e, id, n, state, data)| Indexable {
            entity: EntityRow(e),
            id: EntityId::from_uuid(id),
            position: Position(n),
            state: StateName::from(&*state),
            document: Json::trusted(data),
        });
        Ok(rows.collect())
    }

    /// The first and the last entity of a model by their ids; none if it has none.
    pub(in crate::storage) async fn ends(
        &self,
        model: ModelRow,
    ) -> Result<Option<(EntityId, EntityId)>, Error> {
        let (first, last): (Option<uuid::Uuid>, Option<uuid::Uuid>) = sqlx::query_as(MODEL_ENDS)
            .bind(model.0)
            .fetch_one(&self.reads)
            .await?;
        Ok(first
            .zip(last)
            .map(|(first, last)| (EntityId::from_uuid(first), EntityId::from_uuid(last))))
    }

    /// The documents of entities that are being deleted, in the order of their rows; fewer if they
    /// are more than fits a part.
    pub(in crate::storage) async fn leaving(
        &self,
        entities: &[EntityRow],
    ) -> Result<Vec<Leaving>, Error> {
        let rows: Vec<(i64, i64, Option<String>)> = sqlx::query_as(INDEX_LEAVING)
            .bind(numbers(entities))
            .bind(PART_BYTES_BOUND)
            .fetch_all(&self.reads)
            .await?;
        let rows = rows.into_iter().map(|(e, m, data)| Leaving {
            entity: EntityRow(e),
            model: ModelRow(m),
            document: Json::trusted(data.unwrap_or_else(|| "null".to_owned())),
        });
        Ok(rows.collect())
    }

    /// The models that entities belong to.
    pub(in crate::storage) async fn models_of(
        &self,
        entities: &[EntityRow],
    ) -> Result<Vec<ModelRow>, Error> {
        let rows: Vec<i64> = sqlx::query_scalar(ENTITY_MODELS)
            .bind(numbers(entities))
            .fetch_all(&self.reads)
            .await?;
        Ok(rows.into_iter().map(ModelRow).collect())
    }
}
