keys_added as (
  insert into search_key(p, key, e)
  select unnest(?::bigint[]), unnest(?::bytea[]), unnest(?::bigint[]) from head
  on conflict do nothing
)
