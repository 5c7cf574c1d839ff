-- The version of one entity of a tenant that a transaction wrote.
select e.e, v.n, v.kind <> 2 as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version
from "commit" c
join entity e on e.id = $1
join version v on v.e = e.e and v.seq = c.seq
join model m on m.m = e.m
where c.id = $3 and m.t = $2 and v.n <= $4
order by v.n desc
limit 1
