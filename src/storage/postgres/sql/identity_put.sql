-- Of another tenant's nothing is changed.
insert into identity(kind, name, t, record) values($1, $2, $3, $4)
on conflict(kind, name) do update set record = excluded.record where identity.t = excluded.t
