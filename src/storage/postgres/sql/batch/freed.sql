freed as (
  delete from unique_key using head, unnest(?::bigint[]) x(e) where unique_key.e = x.e
  returning 1
)
