insert or replace into idempotency(t, key, part, hash, answer, expires) values(?1, ?2, ?3, ?4, ?5, ?6)
