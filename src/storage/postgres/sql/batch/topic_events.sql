topic_events as (
  insert into topic_event(o, n, at, id, key, type, data)
  select x.o, x.n, x.at, x.id, x.key, x.type, x.data
  from head, unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[])
    with ordinality x(o, n, at, id, key, type, data, i)
  order by x.i
)
