select t.name as tenant, r.ns, r.name, r.n, r.body
from record r indexed by record_lease
cross join tenant t on t.t = r.t
where r.kind = 9
order by r.c
