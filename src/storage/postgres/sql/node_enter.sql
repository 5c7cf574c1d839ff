-- A name that is in use is taken over: the process that had it finds its number gone.
insert into node(name, address, version, beat)
values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1e6)::bigint)
on conflict (name) do update
set i = excluded.i, address = excluded.address, version = excluded.version, beat = excluded.beat
returning i
