moves as (
  update entity set n = x.n, state = x.state
  from head, unnest(?::bigint[], ?::bigint[], ?::text[]) x(e, n, state)
  where entity.e = x.e
)
