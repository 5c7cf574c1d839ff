-- An empty commit after the newest one. Once it is there, nothing that was on its way to follow an
-- earlier one can be written any more.
insert into "commit"(seq, id, prev, t, at, author, rev)
select p.seq + 1, $1::uuid, p.seq, 0, greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint, p.at + 1), 0, p.rev
from (select seq, at, rev from "commit" order by seq desc limit 1) p
on conflict do nothing
