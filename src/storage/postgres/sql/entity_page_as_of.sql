-- One page of the entities of a model after an id, as they were at a sequence; the rows before it
-- are passed over in the indexes alone.
-- Rows of entities are in the order in which they were made, so those made up to a sequence are
-- those up to one row, which halving finds. Of them there were then those that are live now, and
-- those whose last version, their deletion, came later.
with recursive halving(low, step) as (
  select 0::bigint, 1::bigint << 40
  union all
  select
    case when coalesce((
      select min(v.n) from version v where v.e = (select max(x.e) from entity x where x.e <= low + step)
    ), 0) <= $3 then low + step else low end,
    step / 2
  from halving where step > 0
)
select id, (select max(v.n) from version v where v.e = page.e and v.n <= $3) as n
from (
  select id, e from entity
  where m = $1 and live and id > $2 and e <= (select low from halving where step = 0)
  union all
  select id, e from entity
  where m = $1 and not live and id > $2 and n > $3 and e <= (select low from halving where step = 0)
  order by id limit $4 offset $5
) page
order by id
