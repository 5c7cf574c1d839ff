entities as (
  insert into entity(e, id, m, n, state, live, created, workflow)
  select unnest(?::bigint[]), unnest(?::uuid[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]), true,
    unnest(?::bigint[]), unnest(?::text[])
  from head
)
