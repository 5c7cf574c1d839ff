-- Of a list of [tenant, kind, namespace, name], the places of those that are there.
select j.key, r.n
from json_each(?1) j
cross join record r on r.t = j.value ->> 0 and r.kind = j.value ->> 1 and r.ns = j.value ->> 2
  and r.name = j.value ->> 3
