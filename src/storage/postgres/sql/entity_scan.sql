-- The next entities of a model in the order of their ids, each as it was at a sequence; those
-- that were not there have no version. Entities that are gone now may have been there then.
select e.e, v.n, v.kind <> 2 as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version
from (
  (select e, id, m, created, workflow from entity where m = $1 and live and id > $2 order by id limit $4)
  union all
  (select e, id, m, created, workflow from entity where m = $1 and not live and id > $2 order by id limit $4)
  order by id
  limit $4
) e
left join version v on v.n = (select max(o.n) from version o where o.e = e.e and o.n <= $3)
left join "commit" c on c.seq = v.seq
join model m on m.m = e.m
order by e.id
