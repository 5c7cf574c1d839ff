keys_removed as (
  delete from search_key using head, unnest(?::bigint[], ?::bytea[], ?::bigint[]) x(p, key, e)
  where search_key.p = x.p and search_key.key = x.key and search_key.e = x.e
)
