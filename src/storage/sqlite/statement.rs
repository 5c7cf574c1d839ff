//! Statements whose text depends on what is asked: this is the one place where any is built. All
//! values are bound.

use sqlx::QueryBuilder;
use sqlx_sqlite::Sqlite;

use crate::entity::{Key, Position, Sequence};
use crate::storage::{
    port::{FilledKey, IndexRow, Keyed, ModelRow, Probe, Stretch},
    rows::{LOOKED_UP_BYTES, PART_BYTES_BOUND},
};

/// A statement with its values.
pub(super) type Statement = QueryBuilder<Sqlite>;

/// Adds a statement that gives the rows of `entity` that any of the probes finds, and those whose
/// values are too many to be in an index.
fn union(query: &mut Statement, model: ModelRow, probes: &[Probe]) {
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
fn of_probe(query: &mut Statement, model: ModelRow, probe: &Probe) {
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

/// The entities that any of the probes finds, as they are. The order of its joins is said, not left
/// to be guessed: the planner knows nothing of how much the probes find.
pub(super) fn look_up(model: ModelRow, probes: &[Probe], limit: i64) -> Statement {
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

/// The next entities of a stretch of an index. What goes beyond the bytes of a part is left for the
/// next one, before it is read.
pub(super) fn in_order(stretch: &Stretch) -> Statement {
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
    query.push_bind(PART_BYTES_BOUND);
    query
}

/// How many entities each group of probes finds, as far as is counted.
pub(super) fn count_found(model: ModelRow, groups: &[&[Probe]], limit: i64) -> Statement {
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
    query
}

/// The current versions of the entities that any of the probes finds, `limit` at most.
pub(super) fn found(model: ModelRow, probes: &[Probe], limit: i64) -> Statement {
    let mut query = QueryBuilder::new(
        "select json_group_array(json_array(hex(id), n)) as heads from (select e.id, e.n from (",
    );
    union(&mut query, model, probes);
    query.push(") f cross join entity e on e.e = f.e and e.live where e.m = ");
    query.push_bind(model.0).push(" limit +").push_bind(limit);
    query.push(")");
    query
}

/// The versions as of a sequence of the entities that any of the probes finds now or that have
/// moved since, `limit` at most.
pub(super) fn found_as_of(
    model: ModelRow,
    probes: &[Probe],
    at: Sequence,
    limit: i64,
) -> Statement {
    let mut query = QueryBuilder::new(
        "select json_group_array(json_array(hex(id), n)) as heads from (select e.id, v.n from (",
    );
    union(&mut query, model, probes);
    query.push(" union select e from version where n > ");
    query.push_bind(at.0).push(" and m = ").push_bind(model.0);
    query.push(") f cross join entity e on e.e = f.e cross join version v on v.n = (select max(n) from version where e = f.e and n <= ");
    query.push_bind(at.0).push(") where v.kind <> 2 and e.m = ");
    query.push_bind(model.0).push(" limit +").push_bind(limit);
    query.push(")");
    query
}

/// Adds keys of entities, unless these have moved meanwhile: the change that moved them wrote the keys.
pub(super) fn add_keys(index: IndexRow, keys: &[FilledKey]) -> Statement {
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

/// Adds pairs to what is to be sorted.
pub(super) fn add_sorted(pairs: Vec<(Vec<u8>, Position)>) -> Statement {
    let mut query = QueryBuilder::new("insert into sorted(key, n) ");
    query.push_values(pairs, |mut row, (key, position)| {
        row.push_bind(key).push_bind(position.0);
    });
    query
}

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, Connection as _};
    use sqlx_sqlite::SqliteConnection;

    use super::*;
    use crate::entity::KeyRange;

    #[tokio::test]
    async fn a_look_up_begins_with_its_probes() {
        let mut connection = SqliteConnection::connect("sqlite::memory:")
            .await
            .expect("opens");
        super::super::MIGRATIONS
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
