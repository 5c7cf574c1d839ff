-- What is stored for keys of tenants.
select i.t, i.key, i.part, i.hash
from unnest($1::bigint[], $2::text[]) j(t, key)
join idempotency i on i.t = j.t and i.key = j.key
where i.expires > $3
