-- Takes jobs that are to be run for a node: those that nobody has, and those of nodes that are gone.
update search_job set owner = $1
where j in (
  select j from search_job
  where state = 0 and (owner is null or owner <> all($2::bigint[]))
  order by j limit $3
  for update skip locked
)
returning j, t
