-- Tasks that are due up to an instant and that neither this node nor another live one has, so many of
-- each tenant at most. Which nodes are live is read once.
with recursive line as (
  (select t from task order by t limit 1)
  union all
  select (select task.t from task where task.t > line.t order by task.t limit 1) from line where line.t is not null
)
select line.t, ahead.due, ahead.k
from line cross join lateral (
  select due, k from task
  where task.t = line.t and due <= $1
    and (owner is null or (owner <> $2 and owner <> all(array(
      select i from node where beat > (extract(epoch from clock_timestamp()) * 1e6)::bigint - $4
    ))))
  order by due, k limit $3
) ahead
where line.t is not null
