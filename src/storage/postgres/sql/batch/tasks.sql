tasks as (
  insert into task(k, due, t, e, r, kind, name, body, tries)
  select x.*, 0
  from head,
    (select count(*) from tasks_done) d,
    (select count(*) from tasks_replaced) p,
    (select count(*) from timers_replaced) q,
    unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::text[])
      x(k, due, t, e, r, kind, name, body)
)
