//! Indexes, and looking entities up by their keys, or by their states.

use sqlx::{FromRow as _, Row as _};

use super::{
    Sqlite,
    heads::PickedHead,
    packed::{self, Packed, in_order},
    read::json_list,
    statement::{self, Statement},
};
use crate::entity::{Json, Position, Sequence};
use crate::id::{EntityId, StateName};
use crate::storage::{
    port::{
        EntityRow, Error, Index, Indexable, Keyed, Leaving, ModelRow, Ordered, Probe, Stretch,
        TenantRow, Version,
    },
    rows::{IndexData, Names, PART_BYTES, PART_BYTES_BOUND},
};

const ENTITY_MODELS: &str = include_str!("sql/entity_models.sql");
const INDEX_LEAVING: &str = include_str!("sql/index_leaving.sql");
const INDEX_LIST: &str = include_str!("sql/index_list.sql");
const INDEX_SOURCE: &str = include_str!("sql/index_source.sql");
const MODEL_ENDS: &str = include_str!("sql/model_ends.sql");

impl Sqlite {
    /// How many entities each group of probes finds, as far as is counted.
    pub(in crate::storage) async fn count_found(
        &self,
        model: ModelRow,
        groups: &[&[Probe]],
        limit: i64,
    ) -> Result<Vec<i64>, Error> {
        let mut query = statement::count_found(model, groups, limit);
        Ok(query.build_query_scalar().fetch_all(&self.reads).await?)
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
        let row = query.build().fetch_one(&self.reads).await?;
        let (rows, small): (i64, i64) = (row.try_get("rows")?, row.try_get("small")?);
        if rows > limit || small < rows {
            return Ok(None);
        }
        let packed = Packed::from_row(&row)?;
        let mut names = Names::default();
        let mut versions = Vec::with_capacity(usize::try_from(rows).unwrap_or(0));
        for (head, document) in packed.rows()? {
            let head: PickedHead<'_> = head;
            versions.push(head.version(tenant, document.unwrap_or_default(), &mut names)?);
        }
        Ok(Some(versions))
    }

    /// The next entities of a stretch of an index; fewer if they are more than fits a part.
    pub(in crate::storage) async fn in_order(
        &self,
        tenant: TenantRow,
        stretch: Stretch,
    ) -> Result<Ordered, Error> {
        let mut query = statement::in_order(&stretch);
        let row = query.build().fetch_one(&self.reads).await?;
        let newest: Option<i64> = row.try_get("newest")?;
        let packed = Packed::from_row(&row)?;
        let mut names = Names::default();
        let (mut found, mut bytes) = (Vec::new(), 0);
        for (head, document) in packed.rows()? {
            let (key, head): (&str, PickedHead<'_>) = head;
            let document = document.unwrap_or_default();
            bytes += document.len();
            let version = head.version(tenant, document, &mut names)?;
            let keyed = Keyed {
                key: packed::key(key)?,
                row: version.row,
            };
            found.push((keyed, version));
        }
        // A list made of rows promises no order of its own.
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
        in_order(&query.build_query_as().fetch_one(&self.reads).await?)
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
        let after = after
            .map(|id| id.uuid().as_bytes().to_vec())
            .unwrap_or_default();
        let rows: Vec<(i64, uuid::Uuid, i64, String, String)> = sqlx::query_as(INDEX_SOURCE)
            .bind(model.0)
            .bind(after)
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
            .bind(json_list(entities.iter().map(|entity| entity.0)))
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
            .bind(json_list(entities.iter().map(|entity| entity.0)))
            .fetch_all(&self.reads)
            .await?;
        Ok(rows.into_iter().map(ModelRow).collect())
    }
}
