-- The version of one entity of a tenant that was current at an instant, and when the next one
-- took its place.
select e.e, v.n, v.kind <> 2 as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version,
  (select o.at from "commit" o where o.seq = (select x.seq from version x where x.e = e.e and x.n > v.n order by x.n limit 1)) as until
from entity e
join version v on v.n = (
  select max(o.n) from version o
  where o.e = e.e and o.n <= (select x.seq from "commit" x where x.at <= $3 order by x.at desc limit 1)
)
join "commit" c on c.seq = v.seq
join model m on m.m = e.m
where e.id = $1 and m.t = $2
