moves as (
  update entity set n = x.n, state = x.state
  from head, (select unnest(?::bigint[]) as e, unnest(?::bigint[]) as n, unnest(?::text[]) as state) x
  where entity.e = x.e
)
