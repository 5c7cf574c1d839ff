-- Versions by their positions, given as a JSON list of numbers, in the order of the list. With
-- the first that goes beyond so many bytes of documents they end.
with picked as (
  select j.key as i, v.n, v.kind, v.state, v.transition, v.e, v.seq, m.name, m.version, coalesce(octet_length(v.data), 0) as size
  from json_each(?1) j
  cross join version v on v.n = j.value
  cross join model m on m.m = v.m
  where m.t = ?2
),
sized as (
  select *, sum(size) over (order by i rows unbounded preceding) - size as before from picked
)
select
  json_group_array(json_array(p.i, p.n, p.kind, p.state, p.transition, p.e, hex(e.id), e.created, e.workflow, hex(c.id), c.at, p.name, p.version)) as heads,
  group_concat(coalesce(v.data, ''), char(30)) as documents
from sized p
cross join version v on v.n = p.n
cross join entity e on e.e = p.e
cross join "commit" c on c.seq = p.seq
where p.before <= ?3
