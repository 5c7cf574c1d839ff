-- The newest commit, and the entities that were changed or deleted after another one. What was made
-- since then nobody has read before.
select h.seq, h.at, h.rev,
  array(
    select en.id from version v join entity en on en.e = v.e
    where v.n > $1::bigint and v.n <= h.seq and v.kind <> 0
    order by v.n limit $2::bigint
  ) as moved
from (select seq, at, rev from "commit" order by seq desc limit 1) h
