-- An empty commit far behind the newest one, so that no position after the copy is given twice,
-- however often it is put back: it has the time in microseconds as its position. A clock that went
-- back is not relied on. Where there is no commit yet, it is that of ?6 in ?5.
insert into "commit"(seq, id, t, at, author)
select
  case when max(seq, ?4) < ?3 then ?3 else max(seq, ?4) + ?1 end,
  ?2, t, max(at + 1, ?3), author
from (
  select * from (select seq, at, t, author from "commit" order by seq desc limit 1)
  union all
  select 0, 0, ?5, ?6 where not exists (select 1 from "commit")
)
