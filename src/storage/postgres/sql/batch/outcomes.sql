-- One may replace what an earlier commit of its request stored, or what has expired.
outcomes as (
  insert into idempotency(t, key, part, hash, answer, expires)
  select x.* from head, unnest(?::bigint[], ?::text[], ?::bigint[], ?::bytea[], ?::text[], ?::bigint[])
    x(t, key, part, hash, answer, expires)
  on conflict (t, key, part) do update
  set hash = excluded.hash, answer = excluded.answer, expires = excluded.expires
)
