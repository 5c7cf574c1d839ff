-- The version of one entity of a tenant that was current at a sequence.
select e.e, v.n, v.kind <> 2 as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version
from entity e
join version v on v.n = (select max(o.n) from version o where o.e = e.e and o.n <= $3)
join "commit" c on c.seq = v.seq
join model m on m.m = e.m
where e.id = $1 and m.t = $2
