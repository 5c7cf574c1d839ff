keys_added as (
  insert into search_key(p, key, e)
  select x.* from head, unnest(?::bigint[], ?::bytea[], ?::bigint[]) x(p, key, e)
  on conflict do nothing
)
