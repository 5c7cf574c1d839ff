runs as (
  insert into run(r, t, q, n, status, out, owner, timer, up, e, awaits, created, ended, state)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]),
    unnest(?::boolean[]), unnest(?::bigint[]), unnest(?::boolean[]), unnest(?::bigint[]), unnest(?::uuid[]),
    unnest(?::uuid[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[])
  from head
)
