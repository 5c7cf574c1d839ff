-- The versions of a tenant after a position and up to another, in the order of commits; of one
-- model and in some states where that is asked for. At most so many, and with documents at most
-- so many bytes of them, unless one alone has more; how many bytes each has is known without
-- reading it.
with picked as (
  select v.n, v.kind, v.state, v.e, v.seq, m.name, m.version,
    case when $6::boolean then coalesce(octet_length(v.data), 0) else 0 end as size
  from version v
  join model m on m.m = v.m
  where v.n > $1 and v.n <= $2 and m.t = $3 and ($4::bigint is null or v.m = $4)
    and ($5::text[] is null or v.state = any($5))
  order by v.n
  limit $7
),
sized as (
  select *, sum(size) over (order by n rows unbounded preceding) as until from picked
)
select p.n, p.kind, p.state, e.id, c.id as tx, c.at, p.name, p.version, v.data
from sized p
join "commit" c on c.seq = p.seq
join entity e on e.e = p.e
left join version v on v.n = p.n and $6::boolean
where p.until <= $8 or p.until = p.size
order by p.n
