tasks as (
  insert into task(k, due, t, e, r, kind, name, body, tries, owner)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]),
    unnest(?::bigint[]), unnest(?::text[]), unnest(?::text[]), 0, unnest(?::bigint[])
  from head,
    (select count(*) from tasks_done) d,
    (select count(*) from tasks_replaced) p,
    (select count(*) from timers_replaced) q
)
