insert into idempotency(t, key, part, hash, answer, expires) values($1, $2, $3, $4, $5, $6)
on conflict (t, key, part) do update
set hash = excluded.hash, answer = excluded.answer, expires = excluded.expires
