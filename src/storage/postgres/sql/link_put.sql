-- A commit that holds no unit, or changes a model; not written unless it follows the newest one.
insert into "commit"(seq, id, prev, t, at, author, executor, rev, news, server)
select $2::bigint, $3::uuid, p.seq, $4::bigint, $5::bigint, $6::bigint, $7::bigint, p.rev + $9::bigint, $8::text, p.server
from (select seq, at, rev, server from "commit" order by seq desc limit 1) p
where p.seq = $1::bigint and p.at < $5
on conflict do nothing
