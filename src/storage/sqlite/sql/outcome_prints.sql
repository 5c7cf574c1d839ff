-- What is stored for keys, given as a JSON list of [tenant, key].
select i.t, i.key, i.part, i.hash
from json_each(?1) j
cross join idempotency i on i.t = j.value ->> 0 and i.key = j.value ->> 1
where i.expires > ?2
