with of as (
  insert into tenant(name) values ($2)
  on conflict (name) do update set name = excluded.name
  returning t)
insert into task_offer(i, t, offers) select $1, of.t, $3 from of
on conflict (i, t) do update set offers = excluded.offers
