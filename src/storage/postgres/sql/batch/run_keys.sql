run_keys as (
  insert into run_key(t, kind, scope, key, r)
  select x.* from head, unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::bigint[])
    x(t, kind, scope, key, r)
)
