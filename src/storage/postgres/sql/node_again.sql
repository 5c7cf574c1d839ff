insert into node(i, name, address, version, beat)
values ($1, $2, $3, $4, (extract(epoch from clock_timestamp()) * 1e6)::bigint)
on conflict do nothing
