-- The commits of a batch. Nothing of it is written unless it follows the newest one. Of two that
-- follow the same one, the second waits for the first, and finds its `prev` or its `seq` taken. Nor
-- is anything written while another process has a turn or waits for one, unless this one has it, or
-- has waited for it in vain.
with head as (
  insert into "commit"(seq, id, entry, prev, t, at, author, executor, rev, news, server)
  select ($3::bigint[])[1], ($4::uuid[])[1], ($5::uuid[])[1], p.seq, ($6::bigint[])[1], ($7::bigint[])[1],
    ($8::bigint[])[1], ($9::bigint[])[1], p.rev + $2::bigint, $10::text, p.server
  from (select seq, at, rev, server from "commit" order by seq desc limit 1) p
  where p.seq = $1::bigint and p.at < ($7::bigint[])[1]
    and ($11::boolean or pg_try_advisory_xact_lock_shared(7310593858020254331))
  on conflict do nothing
  returning rev, server
),
rest as (
  insert into "commit"(seq, id, entry, t, at, author, executor, rev, server)
  select unnest(($3::bigint[])[2:]), unnest(($4::uuid[])[2:]), unnest(($5::uuid[])[2:]), unnest(($6::bigint[])[2:]),
    unnest(($7::bigint[])[2:]), unnest(($8::bigint[])[2:]), unnest(($9::bigint[])[2:]), head.rev, head.server
  from head
)
