messages as (
  insert into message(id, t, seq, header, metadata, content)
  select x.* from head, unnest(?::uuid[], ?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[])
    x(id, t, seq, header, metadata, content)
)
