-- One may replace what an earlier commit of its request stored, or what has expired.
outcomes as (
  insert into idempotency(t, key, part, hash, answer, expires)
  select unnest(?::bigint[]), unnest(?::text[]), unnest(?::bigint[]), unnest(?::bytea[]), unnest(?::text[]),
    unnest(?::bigint[])
  from head
  on conflict (t, key, part) do update
  set hash = excluded.hash, answer = excluded.answer, expires = excluded.expires
)
