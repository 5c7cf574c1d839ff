insert into tenant(name) values($1) on conflict(name) do update set name = excluded.name returning t
