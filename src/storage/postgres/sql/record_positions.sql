-- Of a list of records, the places of those that are there.
select j.i - 1 as i, r.n
from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) with ordinality j(t, kind, ns, name, i)
join record r on r.t = j.t and r.kind = j.kind and r.ns = j.ns and r.name = j.name
