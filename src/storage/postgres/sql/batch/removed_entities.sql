removed_entities as (
  update entity set n = x.n, live = false
  from head, unnest(?::bigint[], ?::bigint[]) x(n, e)
  where entity.e = x.e
)
