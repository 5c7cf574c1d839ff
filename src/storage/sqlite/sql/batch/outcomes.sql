insert or replace into idempotency(t, key, part, hash, answer, expires)
select * from (values (?, ?, ?, ?, ?, ?)) where column1 is not null;
