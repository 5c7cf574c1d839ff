tasks as (
  insert into task(k, due, t, e, r, kind, name, body, tries, owner)
  select x.k, x.due, x.t, x.e, x.r, x.kind, x.name, x.body, 0, x.owner
  from head,
    (select count(*) from tasks_done) d,
    (select count(*) from tasks_replaced) p,
    (select count(*) from timers_replaced) q,
    unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::bigint[])
      x(k, due, t, e, r, kind, name, body, owner)
)
