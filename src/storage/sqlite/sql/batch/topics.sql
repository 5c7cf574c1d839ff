insert into topic(o, t, ns, name, last)
select * from (values (?, ?, ?, ?, ?)) where column1 is not null
on conflict(o) do update set last = excluded.last;
