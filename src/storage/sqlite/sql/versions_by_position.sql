-- Versions by their positions, given as a JSON list of numbers, in the order of the list.
select j.key as "index", e.e, v.n, v.kind <> 2 as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version
from json_each(?1) j
cross join version v on v.n = j.value
cross join entity e on e.e = v.e
cross join "commit" c on c.seq = v.seq
cross join model m on m.m = v.m
where m.t = ?2
