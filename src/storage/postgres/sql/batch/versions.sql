versions as (
  insert into version(n, e, m, seq, kind, state, transition, author, executor, data, record)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]),
    unnest(?::text[]), unnest(?::text[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]), unnest(?::text[])
  from head
)
