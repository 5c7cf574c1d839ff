-- Takes tasks for a node: those that nobody has, those of nodes that are gone, and those that it has
-- itself and has put off. Which nodes are live is read here, once: this node may not know yet of one
-- that has just started. What another node is taking at this moment is left to it. Nobody waits for
-- the disk: what a crash of the server forgets is taken again, and what is done of a task is decided
-- by the commit that does it.
with relaxed as materialized (select set_config('synchronous_commit', 'off', true))
update task set owner = $1
from relaxed
where k in (
  select k from task
  where k = any($2::bigint[])
    and (
      owner is null
      or (owner = $1 and k = any($3::bigint[]))
      or (owner <> $1 and owner <> all(array(
        select i from node where beat > (extract(epoch from clock_timestamp()) * 1e6)::bigint - $4
      )))
    )
  for update skip locked
)
returning k
