-- An empty commit after the newest one. Once it is there, nothing that was on its way to follow an
-- earlier one can be written any more. Of what another server has acknowledged, a part may be
-- missing here: so the first commit on a server leaves out so many positions that none is given
-- twice. Without a need only that first one is written.
insert into "commit"(seq, id, prev, t, at, author, rev, server)
select p.seq + case when p.server <> s.started then 1073741824 else 1 end, $1::uuid, p.seq, 0,
  case when $2::boolean
    then greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint, p.at + 1)
    else p.at + 1
  end, 0, p.rev, s.started
from (select seq, at, rev, server from "commit" order by seq desc limit 1) p,
  (select (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as started) s
where $2::boolean or p.server is distinct from s.started
on conflict do nothing
