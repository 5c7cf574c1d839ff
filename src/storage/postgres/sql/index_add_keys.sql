-- Adds keys of entities, unless these have moved meanwhile: the change that moved them wrote the keys.
insert into search_key(p, key, e)
select $1::bigint, x.key, x.e from unnest($2::bytea[], $3::bigint[], $4::bigint[]) x(key, e, n)
where exists (select 1 from entity where entity.e = x.e and entity.n = x.n)
on conflict do nothing
