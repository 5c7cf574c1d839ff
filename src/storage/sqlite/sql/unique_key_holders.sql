-- Who holds claims, given as a JSON list of [model, key, value in hexadecimal].
select k.m, k.u, k.key, e.id
from json_each(?1) j
cross join unique_key k on k.m = j.value ->> 0 and k.u = j.value ->> 1 and k.key = unhex(j.value ->> 2)
cross join entity e on e.e = k.e
