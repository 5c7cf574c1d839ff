-- A new job, unless its request was done before.
insert into search_job(id, t, m, seq, query, schema, state, created, count, took)
select ?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, 0, 0
where not exists (select 1 from idempotency where t = ?2 and key = ?8 and expires > ?7)
