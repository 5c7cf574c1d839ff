messages as (
  insert into message(id, t, seq, header, metadata, content)
  select unnest(?::uuid[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]), unnest(?::text[]),
    unnest(?::text[])
  from head
)
