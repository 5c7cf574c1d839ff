-- The commits of a batch. Nothing of it is written unless it follows the newest one. Of two that
-- follow the same one, the second waits for the first, and finds its `prev` or its `seq` taken. Nor
-- is anything written while another process has a turn or waits for one, unless this one has it, or
-- has waited for it in vain.
with head as (
  insert into "commit"(seq, id, entry, prev, t, at, author, executor, rev, news, server)
  select c.seq, c.id, c.entry, p.seq, c.t, c.at, c.author, c.executor, p.rev + $2::bigint, $10::text, p.server
  from (select seq, at, rev, server from "commit" order by seq desc limit 1) p,
    unnest($3::bigint[], $4::uuid[], $5::uuid[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
    with ordinality c(seq, id, entry, t, at, author, executor, i)
  where p.seq = $1::bigint and p.at < c.at and c.i = 1
    and ($11::boolean or pg_try_advisory_xact_lock_shared(7310593858020254331))
  on conflict do nothing
  returning rev, server
),
rest as (
  insert into "commit"(seq, id, entry, t, at, author, executor, rev, server)
  select c.seq, c.id, c.entry, c.t, c.at, c.author, c.executor, head.rev, head.server
  from head,
    unnest($3::bigint[], $4::uuid[], $5::uuid[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
    with ordinality c(seq, id, entry, t, at, author, executor, i)
  where c.i > 1
)
