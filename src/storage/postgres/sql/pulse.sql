-- A commit, the time of the server, when the commit of another position was made, if it is there, and
-- what was changed from there up to it: entities that were there before, runs with what they wait for,
-- whether they have ended and who drives them, and what commits say of other things, and which commits
-- those are. Lists that are full are not whole. The commit is the newest one, or one before it if so
-- many positions are more than are read at once.
select h.seq, h.at, h.rev, h.server, h.last,
  (extract(epoch from clock_timestamp()) * 1000000)::bigint as now,
  (select c.at from "commit" c where c.seq = $1::bigint) as known_at,
  array(
    select en.id from version v join entity en on en.e = v.e
    where v.n > $1::bigint and v.n <= h.seq and v.kind <> 0
    order by v.n limit $2::bigint
  ) as moved,
  array(
    select json_build_array(r.r, r.t, r.awaits, r.ended is not null, r.owner)::text
    from (
      select distinct o.r from (
        select ev.r from run_event ev
        where ev.n > $1::bigint and ev.n <= h.seq
        order by ev.n limit $2::bigint
      ) o
    ) m join run r on r.r = m.r
  ) as runs,
  (
    select count(*) from (
      select from run_event ev where ev.n > $1::bigint and ev.n <= h.seq limit $2::bigint
    ) o
  ) as advances,
  array(
    select c.news from "commit" c
    where c.seq > $1::bigint and c.seq <= h.seq and c.news is not null
    order by c.seq
  ) as news,
  array(
    select c.seq from "commit" c
    where c.seq > $1::bigint and c.seq <= h.seq and c.news is not null
    order by c.seq
  ) as news_of
from (
  select c.seq, c.at, c.rev, c.server, newest.seq as last
  from (select seq from "commit" order by seq desc limit 1) newest
  join "commit" c on c.seq = coalesce(
    (select seq from "commit" where seq > $1::bigint and seq <= $1::bigint + $3::bigint order by seq desc limit 1),
    (select seq from "commit" where seq > $1::bigint order by seq limit 1),
    newest.seq
  )
) h
