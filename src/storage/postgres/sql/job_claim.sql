-- Takes jobs that are to be run for a node: those that nobody has, and those of nodes that are gone.
-- Which nodes are live is read here, once: this node may not know yet of one that has just started.
update search_job set owner = $1
where j in (
  select j from search_job
  where state = 0
    and (owner is null or (owner <> $1 and owner <> all(array(
      select i from node where beat > (extract(epoch from clock_timestamp()) * 1e6)::bigint - $2
    ))))
  order by j limit $3
  for update skip locked
)
returning j, t
