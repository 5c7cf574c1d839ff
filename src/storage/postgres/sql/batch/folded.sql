folded as (
  delete from model_delta using head, unnest(?::bigint[], ?::bigint[]) x(m, n)
  where model_delta.m = x.m and model_delta.n < x.n
)
