deltas as (
  insert into model_delta(m, n, delta)
  select x.* from head, unnest(?::bigint[], ?::bigint[], ?::text[]) x(m, n, delta)
)
