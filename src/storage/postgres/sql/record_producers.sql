select r.c, t.name as tenant, r.ns, r.name, r.n, r.body
from record r
join tenant t on t.t = r.t
where r.kind = 4 and r.c > $1
order by r.c
limit $2
