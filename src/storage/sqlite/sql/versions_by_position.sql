-- Versions by their positions, given as a JSON list of numbers.
select e.e, v.n, v.kind <> 2 as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, m.name, m.version
from version v
join entity e on e.e = v.e
join "commit" c on c.seq = v.seq
join model m on m.m = v.m
where v.n in (select value from json_each(?1)) and m.t = ?2
