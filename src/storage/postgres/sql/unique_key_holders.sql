-- Who holds claims.
select k.m, k.u, k.key, e.id
from unnest($1::bigint[], $2::bigint[], $3::bytea[]) j(m, u, key)
join unique_key k on k.m = j.m and k.u = j.u and k.key = j.key
join entity e on e.e = k.e
