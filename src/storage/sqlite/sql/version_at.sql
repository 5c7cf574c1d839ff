-- The version of one entity of a tenant that was current at an instant, and when the next one
-- took its place.
select e.e, v.n, v.kind <> 2 as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version,
  (select at from "commit" where seq = (select seq from version where e = e.e and n > v.n order by n limit 1)) as until
from entity e
join version v on v.n = (
  select max(n) from version
  where e = e.e and n <= (select seq from "commit" where at <= ?3 order by at desc limit 1)
)
join "commit" c on c.seq = v.seq
join model m on m.m = e.m
where e.id = ?1 and m.t = ?2
