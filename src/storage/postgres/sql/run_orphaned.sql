-- Runs of which work is out and that no live node drives, by their numbers, and which node did. The
-- nodes that drive runs are each found by one step in the index, and so are their runs: ordered by
-- both columns, no other index is of use.
with recursive driver(i) as (
  (select min(owner) from run where out and owner is not null)
  union all
  select (select min(run.owner) from run where run.out and run.owner > driver.i)
  from driver where driver.i is not null
), gone as (
  select driver.i from driver
  where driver.i is not null and not exists (
    select from node
    where node.i = driver.i and node.beat > (extract(epoch from clock_timestamp()) * 1e6)::bigint - $3
  )
), orphan as (
  select run.r, run.t, gone.i
  from gone cross join lateral (
    select r, t from run
    where out and (owner, r) > (gone.i, $1) and owner <= gone.i
    order by owner, r limit $2
  ) run
  union all
  (select r, t, null::bigint from run where out and owner is null and r > $1 order by r limit $2)
)
select tenant.name, orphan.r, orphan.i
from orphan join tenant on tenant.t = orphan.t
order by orphan.r limit $2
