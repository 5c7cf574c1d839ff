//! Statements whose text depends on what is asked: this is the one place where any is built. All
//! values are bound.

use sqlx::QueryBuilder;
use sqlx_postgres::Postgres;

use super::text::text;
use crate::entity::{Key, Sequence};
use crate::storage::{
    port::{Keyed, ModelRow, Probe, Stretch},
    rows::{LOOKED_UP_BYTES, PART_BYTES_BOUND},
};

/// A statement with its values.
pub(super) type Statement = QueryBuilder<Postgres>;

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
        query.push("select null::bigint as e where false");
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
            query.push_bind(text(state.as_str()).into_owned());
        }
    }
}

/// The entities that any of the probes finds, as they are; large documents are left out.
pub(super) fn look_up(model: ModelRow, probes: &[Probe], limit: i64) -> Statement {
    let mut query = QueryBuilder::new(
        "select e.e, v.n, true as live, v.state, v.transition, \
         case when octet_length(v.data) <= ",
    );
    query.push_bind(LOOKED_UP_BYTES);
    query.push(
        " then v.data end as data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version from (",
    );
    union(&mut query, model, probes);
    query.push(
        r#") f join entity e on e.e = f.e and e.live join version v on v.n = e.n join "commit" c on c.seq = v.seq join model m on m.m = e.m where e.m = "#,
    );
    query.push_bind(model.0).push(" limit ");
    query.push_bind(limit.saturating_add(1));
    query
}

/// The next entities of a stretch of an index. What goes beyond the bytes of a part is left for the
/// next one, before it is read. Every row says which the newest position was, also one that has
/// nothing else.
pub(super) fn in_order(stretch: &Stretch) -> Statement {
    let (beyond, order) = if stretch.descending {
        ("<", "key desc, e desc")
    } else {
        (">", "key, e")
    };
    let mut query = QueryBuilder::new(
        "with picked as (\
         select k.key as key, k.e as e, v.n, coalesce(octet_length(v.data), 0)::bigint as size from search_key k \
         join entity e on e.e = k.e and e.live join version v on v.n = e.n where k.p = ",
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
    let of_key = order.replace("key", "k.key").replace(", e", ", k.e");
    query.push(format_args!(" order by {of_key} limit "));
    query.push_bind(i64::try_from(stretch.limit).unwrap_or(i64::MAX));
    query.push(format_args!(
        "), sized as (select *, sum(size) over (order by {order} rows unbounded preceding) - size as before from picked) "
    ));
    query.push(
        r#"select top.newest, found.* from (select max(n) as newest from version) top left join (
        select p.key, e.e, v.n, true as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version
        from sized p join version v on v.n = p.n join entity e on e.e = p.e
        join "commit" c on c.seq = v.seq join model m on m.m = e.m where p.before <= "#,
    );
    query.push_bind(PART_BYTES_BOUND);
    query.push(") found on true");
    query
}

/// How many entities each group of probes finds, as far as is counted.
pub(super) fn count_found(model: ModelRow, groups: &[&[Probe]], limit: i64) -> Statement {
    let mut query = QueryBuilder::new("");
    for (index, probes) in groups.iter().enumerate() {
        query.push(if index > 0 { " union all " } else { "" });
        query.push(format_args!("select {index}::bigint as i, "));
        // One entity may be found twice, which does not matter for an estimate.
        for (index, probe) in probes.iter().enumerate() {
            query.push(if index > 0 { " + " } else { "" });
            query.push("(select count(*) from (select 1");
            of_probe(&mut query, model, probe);
            query.push(" limit ").push_bind(limit).push(") x)");
        }
        if probes.is_empty() {
            query.push("0::bigint");
        }
        query.push(" as found");
    }
    query.push(" order by i");
    query
}

/// The current versions of the entities that any of the probes finds, `limit` at most.
pub(super) fn found(model: ModelRow, probes: &[Probe], limit: i64) -> Statement {
    let mut query = QueryBuilder::new("select e.id, e.n from (");
    union(&mut query, model, probes);
    query.push(") f join entity e on e.e = f.e and e.live where e.m = ");
    query.push_bind(model.0).push(" limit ").push_bind(limit);
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
    let mut query = QueryBuilder::new("select e.id, v.n from (");
    union(&mut query, model, probes);
    query.push(" union select e from version where n > ");
    query.push_bind(at.0).push(" and m = ").push_bind(model.0);
    query.push(") f join entity e on e.e = f.e join version v on v.n = (select max(o.n) from version o where o.e = f.e and o.n <= ");
    query.push_bind(at.0).push(") where v.kind <> 2 and e.m = ");
    query.push_bind(model.0).push(" limit ").push_bind(limit);
    query
}
