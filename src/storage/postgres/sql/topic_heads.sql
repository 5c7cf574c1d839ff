-- Of a list of topics, the places of those that are there.
select j.i - 1 as i, p.o, p.last
from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality j(t, ns, name, i)
join topic p on p.t = j.t and p.ns = j.ns and p.name = j.name
