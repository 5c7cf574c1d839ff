-- Versions by their positions, in the order of the list. With the first that goes beyond so many
-- bytes of documents they end.
with picked as (
  select j.i - 1 as i, v.n, m.name, m.version, coalesce(octet_length(v.data), 0)::bigint as size
  from unnest($1::bigint[]) with ordinality j(n, i)
  join version v on v.n = j.n
  join model m on m.m = v.m
  where m.t = $2
),
sized as (
  select *, sum(size) over (order by i rows unbounded preceding) - size as before from picked
)
select p.i, e.e, v.n, v.kind <> 2 as live, v.state, v.transition, v.data, e.id, e.created, e.workflow, c.id as tx, c.at, p.name, p.version
from sized p
join version v on v.n = p.n
join entity e on e.e = v.e
join "commit" c on c.seq = v.seq
where p.before <= $3
order by p.i
