topics as (
  insert into topic(o, t, ns, name, last)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]), unnest(?::text[]), unnest(?::bigint[]) from head
  on conflict (o) do update set last = excluded.last
)
