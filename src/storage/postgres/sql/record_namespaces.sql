-- The namespaces of all tenants that have records of a kind whose names begin alike.
select distinct t.name, r.ns
from tenant t
join record r on r.t = t.t and r.kind = $1
where r.name >= $2 and r.name < $3
