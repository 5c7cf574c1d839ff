-- Records by name, those after one, whose names begin alike, without their bodies.
select r.name, octet_length(r.body)::bigint as bytes, c.seq, c.id, c.at, a.kind, a.name as author
from record r
join "commit" c on c.seq = r.n
join actor a on a.a = c.author
where r.t = $1 and r.kind = $2 and r.ns = $3 and r.name > coalesce($4::text, '') and r.name >= $5
  and r.name < $6
order by r.name
limit $7
