-- The current version of one entity of a tenant.
select e.e, v.n, e.live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version
from entity e
join version v on v.n = e.n
join "commit" c on c.seq = v.seq
join model m on m.m = e.m
where e.id = $1 and m.t = $2
