-- Tasks that are due up to an instant and that no live node has, so many of each tenant at most.
with recursive line as (
  (select t from task order by t limit 1)
  union all
  select (select task.t from task where task.t > line.t order by task.t limit 1) from line where line.t is not null
)
select line.t, ahead.due, ahead.k
from line cross join lateral (
  select due, k from task
  where task.t = line.t and due <= $1 and (owner is null or owner <> all($2::bigint[]))
  order by due, k limit $3
) ahead
where line.t is not null
