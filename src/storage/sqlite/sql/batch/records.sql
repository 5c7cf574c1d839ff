insert into record(t, kind, ns, name, n, body)
select * from (values (?, ?, ?, ?, ?, ?)) where column1 is not null
on conflict(t, kind, ns, name) do update set n = excluded.n, body = excluded.body;
