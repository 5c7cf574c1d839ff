-- A new job, unless its request was done before.
insert into search_job(id, t, m, seq, query, schema, state, created, count, took)
select $1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::text, $6::text, 0, $7::bigint, 0, 0
where not exists (select 1 from idempotency where t = $2 and key = $8 and expires > $7)
