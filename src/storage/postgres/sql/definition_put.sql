insert into definition(hash, body) values($1, $2) on conflict(hash) do update set hash = excluded.hash returning d
