-- One page of the entities of a model after an id, as they were at a sequence; the rows before it
-- are passed over in the indexes alone.
-- Rows of entities are in the order in which they were made, so those made up to a sequence are
-- those up to one row, which halving finds. Of them there were then those that are live now, and
-- those whose last version, their deletion, came later.
with recursive halving(low, step) as (
  select 0, 1 << 40
  union all
  select
    low + iif(coalesce((select min(n) from version where e = (select max(e) from entity where e <= low + step)), 0) <= ?3, step, 0),
    step / 2
  from halving where step > 0
)
select json_group_array(json_array(hex(id), (select max(n) from version where e = page.e and n <= ?3))) as heads
from (
  select id, e from entity
  where m = ?1 and live and id > ?2 and e <= (select low from halving where step = 0)
  union all
  select id, e from entity
  where m = ?1 and not live and id > ?2 and n > ?3 and e <= (select low from halving where step = 0)
  order by id limit +?4 offset +?5
) page
