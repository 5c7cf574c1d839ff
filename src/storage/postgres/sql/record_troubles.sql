select t.name as tenant, r.ns, r.name, r.n, r.body
from record r
join tenant t on t.t = r.t
where r.kind = 8
order by r.c
