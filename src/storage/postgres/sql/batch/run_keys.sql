run_keys as (
  insert into run_key(t, kind, scope, key, r)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]), unnest(?::text[]), unnest(?::bigint[]) from head
)
