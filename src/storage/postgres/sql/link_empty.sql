-- An empty commit after the newest one. Once it is there, nothing that was on its way to follow an
-- earlier one can be written any more. Of what another server has acknowledged, a part may be
-- missing here, also the first commit of that one: so the first commit on a server, as that of a
-- restored database, has the time in microseconds as its position, which no earlier one has had.
-- So has one that is to be after a position that is missing here. A clock that went back is not
-- relied on. Without a need only that first one is written.
insert into "commit"(seq, id, prev, t, at, author, rev, server)
select
  case
    when p.server <> s.started or p.seq < $3::bigint then
      case
        when greatest(p.seq, $3::bigint) < s.now then s.now
        else greatest(p.seq, $3::bigint) + 1073741824
      end
    else p.seq + 1
  end, $1::uuid, p.seq, 0,
  case when $2::boolean then greatest(s.now, p.at + 1) else p.at + 1 end, 0, p.rev, s.started
from (select seq, at, rev, server from "commit" order by seq desc limit 1) p,
  (
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now,
      (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint + '"commit"'::regclass::oid::bigint as started
  ) s
where $2::boolean or p.server is distinct from s.started
on conflict do nothing
