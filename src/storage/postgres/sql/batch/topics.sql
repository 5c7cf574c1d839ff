topics as (
  insert into topic(o, t, ns, name, last)
  select x.* from head, unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::bigint[])
    x(o, t, ns, name, last)
  on conflict (o) do update set last = excluded.last
)
