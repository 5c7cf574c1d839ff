//! Indexes, and looking entities up by their keys, or by their states.

use sqlx::{FromRow as _, QueryBuilder, Row as _};
use sqlx_sqlite::Sqlite as Database;

use super::{
    Sqlite,
    many::PART_BYTES,
    packed::{self, Names, Packed, in_order},
    read::json_list,
    rows::{IndexData, PickedHead},
};
use crate::entity::{Json, Key, Position, Sequence};
use crate::id::{EntityId, StateName};
use crate::storage::{
    EntityRow, Error, Index, Indexable, Keyed, Leaving, ModelRow, Ordered, Probe, Stretch,
    TenantRow, Version,
};

const ENTITY_MODELS: &str = include_str!("sql/entity_models.sql");
const INDEX_LEAVING: &str = include_str!("sql/index_leaving.sql");
const INDEX_LIST: &str = include_str!("sql/index_list.sql");
const INDEX_SOURCE: &str = include_str!("sql/index_source.sql");
const MODEL_ENDS: &str = include_str!("sql/model_ends.sql");

/// How large a document may be that is looked up with others, in bytes.
const LOOKED_UP_BYTES: i64 = 64 << 10;

/// Adds a statement that gives the rows of `entity` that any of the probes finds, and those whose
/// values are too many to be in an index.
fn union(query: &mut QueryBuilder<Database>, model: ModelRow, probes: &[Probe]) {
    for (index, probe) in probes.iter().enumerate() {
        if index > 0 {
            query.push(" union ");
        }
        query.push(match probe {
            Probe::Keys(..) => "select distinct e",
            Probe::State(_) => "select e",
        });
        of_probe(query, model, probe);
    }
    let mut indexes: Vec<_> = probes.iter().filter_map(Probe::index).collect();
    indexes.sort_unstable();
    indexes.dedup();
    for index in indexes {
        query.push(" union select e from search_key where p = ");
        query.push_bind(index.0).push(" and key = ");
        query.push_bind(Key::many().as_bytes().to_vec());
    }
    if probes.is_empty() {
        query.push("select null as e where false");
    }
}

/// Adds where a probe looks.
fn of_probe(query: &mut QueryBuilder<Database>, model: ModelRow, probe: &Probe) {
    match probe {
        Probe::Keys(row, range) => {
            query.push(" from search_key where p = ");
            query.push_bind(row.0).push(" and key >= ");
            query
                .push_bind(range.from.as_bytes().to_vec())
                .push(" and key < ");
            query.push_bind(range.until.as_bytes().to_vec());
        }
        Probe::State(state) => {
            query.push(" from entity where live and m = ");
            query.push_bind(model.0).push(" and state = ");
            query.push_bind(state.shared());
        }
    }
}

/// The statement of [`Sqlite::look_up`]. The order of its joins is said, not left to be guessed:
/// whoever guesses knows nothing of how much the probes find.
fn look_up(model: ModelRow, probes: &[Probe], limit: i64) -> QueryBuilder<Database> {
    // The place is not asked for, and what is live was written, not deleted.
    let mut query = QueryBuilder::new(
        "select json_group_array(json_array(0, n, 1, state, transition, e, hex(id), created, workflow, hex(tx), at, name, version)) as heads, \
         group_concat(data, char(30)) as documents, count(*) as rows, count(data) as small from (\
         select e.e, v.n, v.state, v.transition, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version, \
         iif(octet_length(v.data) <= ",
    );
    query.push_bind(LOOKED_UP_BYTES);
    query.push(", v.data, null) as data from (");
    union(&mut query, model, probes);
    query.push(
        r#") f cross join entity e on e.e = f.e and e.live cross join version v on v.n = e.n cross join "commit" c on c.seq = v.seq cross join model m on m.m = e.m where e.m = "#,
    );
    query.push_bind(model.0).push(" limit +");
    query.push_bind(limit.saturating_add(1)).push(")");
    query
}

/// The statement of [`Sqlite::in_order`]. What goes beyond the bytes of a part is left for the next
/// one, before it is read.
fn walk(stretch: &Stretch) -> QueryBuilder<Database> {
    let (beyond, order) = if stretch.descending {
        ("<", "key desc, e desc")
    } else {
        (">", "key, e")
    };
    let mut query = QueryBuilder::new(
        "with picked as (\
         select k.key as key, k.e as e, v.n, coalesce(octet_length(v.data), 0) as size from search_key k \
         cross join entity e on e.e = k.e and e.live cross join version v on v.n = e.n where k.p = ",
    );
    query.push_bind(stretch.index.0).push(" and k.key >= ");
    query
        .push_bind(stretch.range.from.as_bytes().to_vec())
        .push(" and k.key < ");
    query.push_bind(stretch.range.until.as_bytes().to_vec());
    if let Some(Keyed { key, row }) = &stretch.after {
        query.push(format_args!(" and (k.key, k.e) {beyond} ("));
        query.push_bind(key.as_bytes().to_vec()).push(", ");
        query.push_bind(row.0).push(")");
    }
    query.push(format_args!(" order by {order} limit +"));
    query.push_bind(i64::try_from(stretch.limit).unwrap_or(i64::MAX));
    query.push(format_args!(
        "), sized as (select *, sum(size) over (order by {order} rows unbounded preceding) - size as before from picked) "
    ));
    query.push(
        r#"select (select max(n) from version) as newest,
        json_group_array(json_array(hex(p.key), json_array(0, p.n, v.kind, v.state, v.transition, p.e, hex(e.id), e.created, e.workflow, hex(c.id), c.at, m.name, m.version))) as heads,
        group_concat(coalesce(v.data, ''), char(30)) as documents
        from sized p cross join version v on v.n = p.n cross join entity e on e.e = p.e
        cross join "commit" c on c.seq = v.seq cross join model m on m.m = e.m where p.before <= "#,
    );
    query.push_bind(i64::try_from(PART_BYTES).unwrap_or(i64::MAX));
    query
}

impl Sqlite {
    /// How many entities each group of probes finds, as far as is counted.
    pub(in crate::storage) async fn count_found(
        &self,
        model: ModelRow,
        groups: &[&[Probe]],
        limit: i64,
    ) -> Result<Vec<i64>, Error> {
        let mut query = QueryBuilder::new("");
        for (index, probes) in groups.iter().enumerate() {
            query.push(if index > 0 { " union all " } else { "" });
            // One entity may be found twice, which does not matter for an estimate.
            for (index, probe) in probes.iter().enumerate() {
                query.push(if index > 0 { " + " } else { "select " });
                query.push("(select count(*) from (select 1");
                of_probe(&mut query, model, probe);
                query.push(" limit +").push_bind(limit).push("))");
            }
            if probes.is_empty() {
                query.push("select 0");
            }
        }
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
        let mut query = look_up(model, probes, limit);
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
        let mut query = walk(&stretch);
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
        let mut query = QueryBuilder::new(
            "select json_group_array(json_array(hex(id), n)) as heads from (select e.id, e.n from (",
        );
        union(&mut query, model, probes);
        query.push(") f cross join entity e on e.e = f.e and e.live where e.m = ");
        query.push_bind(model.0).push(" limit +").push_bind(limit);
        self.positions_of(query.push(")")).await
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
        let mut query = QueryBuilder::new(
            "select json_group_array(json_array(hex(id), n)) as heads from (select e.id, v.n from (",
        );
        union(&mut query, model, probes);
        query.push(" union select e from version where n > ");
        query.push_bind(at.0).push(" and m = ").push_bind(model.0);
        query.push(") f cross join entity e on e.e = f.e cross join version v on v.n = (select max(n) from version where e = f.e and n <= ");
        query.push_bind(at.0).push(") where v.kind <> 2 and e.m = ");
        query.push_bind(model.0).push(" limit +").push_bind(limit);
        self.positions_of(query.push(")")).await
    }

    async fn positions_of(
        &self,
        query: &mut QueryBuilder<Database>,
    ) -> Result<Vec<(EntityId, Position)>, Error> {
        in_order(&query.build_query_as().fetch_one(&self.reads).await?)
    }

    /// All indexes there are.
    pub(in crate::storage) async fn indexes(&self) -> Result<Vec<Index>, Error> {
        let rows: Vec<IndexData> = sqlx::query_as(INDEX_LIST).fetch_all(&self.reads).await?;
        rows.into_iter().map(Index::try_from).collect()
    }

    /// The next entities of a model, to be put into an index.
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

    /// The documents of entities that are being deleted.
    pub(in crate::storage) async fn leaving(
        &self,
        entities: &[EntityRow],
    ) -> Result<Vec<Leaving>, Error> {
        let rows: Vec<(i64, i64, Option<String>)> = sqlx::query_as(INDEX_LEAVING)
            .bind(json_list(entities.iter().map(|entity| entity.0)))
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

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, Connection as _};
    use sqlx_sqlite::SqliteConnection;

    use super::*;
    use crate::entity::KeyRange;
    use crate::storage::IndexRow;

    #[tokio::test]
    async fn a_look_up_begins_with_its_probes() {
        let mut connection = SqliteConnection::connect("sqlite::memory:")
            .await
            .expect("opens");
        sqlx::migrate!("src/storage/sqlite/migrations")
            .run(&mut connection)
            .await
            .expect("migrates");
        let keys = || Probe::Keys(IndexRow(1), KeyRange::only(&Key::text("a")));
        for probes in [
            vec![keys()],
            vec![keys(), keys()],
            vec![keys(), keys(), Probe::State("NEW".into())],
        ] {
            let query = look_up(ModelRow(1), &probes, 32);
            let sql = query.sql();
            let plan = format!("explain query plan {}", sql.as_str());
            let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(AssertSqlSafe(plan))
                .fetch_all(&mut connection)
                .await
                .expect("a plan");
            let steps: Vec<_> = rows.iter().map(|(.., step)| step.as_str()).collect();
            for table in ["e", "v", "c", "m"] {
                let step = format!("SEARCH {table} USING INTEGER PRIMARY KEY (rowid=?)");
                assert!(steps.contains(&step.as_str()), "{steps:#?}");
            }
        }
    }
}
