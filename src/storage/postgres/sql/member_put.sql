with of as (
  insert into tenant(name) values ($3)
  on conflict (name) do update set name = excluded.name
  returning t)
insert into member(i, id, t, tags) select $1, $2, of.t, $4 from of
on conflict (i, id) do update set tags = excluded.tags
