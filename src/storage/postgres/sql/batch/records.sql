records as (
  insert into record(t, kind, ns, name, n, body)
  select x.* from head, unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::bigint[], ?::text[])
    x(t, kind, ns, name, n, body)
  on conflict (t, kind, ns, name) do update set n = excluded.n, body = excluded.body
)
