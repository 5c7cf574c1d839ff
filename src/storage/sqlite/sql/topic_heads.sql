-- Of a list of [tenant, namespace, name], the places of those that are there.
select j.key, p.o, p.last
from json_each(?1) j
cross join topic p on p.t = j.value ->> 0 and p.ns = j.value ->> 1 and p.name = j.value ->> 2
