insert into run_name(t, ns, name) values($1, $2, $3) on conflict(t, ns, name) do update set name = excluded.name returning q
