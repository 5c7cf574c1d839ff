records as (
  insert into record(t, kind, ns, name, n, body)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]), unnest(?::text[]), unnest(?::bigint[]),
    unnest(?::text[])
  from head
  on conflict (t, kind, ns, name) do update set n = excluded.n, body = excluded.body
)
