insert into actor(t, kind, name) values($1, $2, $3) on conflict(t, kind, name) do update set name = excluded.name returning a
