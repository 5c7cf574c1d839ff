select t.name as tenant, m.ns
from (select distinct r.t, r.ns from record r where r.kind = 15) m
join tenant t on t.t = m.t
