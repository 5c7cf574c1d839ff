select t.name as tenant, m.ns
from (select distinct r.t, r.ns from record r indexed by record_mirror where r.kind = 15) m
cross join tenant t on t.t = m.t
