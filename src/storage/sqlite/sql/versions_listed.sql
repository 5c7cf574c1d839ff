-- Versions by their positions, given as a JSON list of numbers: all of them.
select
  json_group_array(json_array(j.key, v.n, v.kind, v.state, v.transition, v.e, hex(e.id), e.created, e.workflow, hex(c.id), c.at, m.name, m.version)) as heads,
  group_concat(coalesce(v.data, ''), char(30)) as documents
from json_each(?1) j
cross join version v on v.n = j.value
cross join model m on m.m = v.m
cross join entity e on e.e = v.e
cross join "commit" c on c.seq = v.seq
where m.t = ?2
