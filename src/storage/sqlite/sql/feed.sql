-- The versions of a tenant after a position and up to another, in the order of commits; of one
-- model and in some states where that is asked for. At most so many, and with documents at most
-- so many bytes of them, unless one alone has more; how many bytes each has is known without
-- reading it.
with picked as (
  select v.n, v.kind, v.state, v.e, v.seq, m.name, m.version, iif(?6, coalesce(octet_length(v.data), 0), 0) as size
  from version v
  cross join model m on m.m = v.m
  where v.n > ?1 and v.n <= ?2 and m.t = ?3 and (?4 is null or v.m = ?4)
    and (?5 is null or v.state in (select value from json_each(?5)))
  order by v.n
  limit +?7
),
sized as (
  select *, sum(size) over (order by n rows unbounded preceding) as until from picked
)
select
  json_group_array(json_array(p.n, p.kind, p.state, hex(e.id), hex(c.id), c.at, p.name, p.version)) as heads,
  iif(?6, group_concat(coalesce(v.data, ''), char(30)), null) as documents
from sized p
cross join "commit" c on c.seq = p.seq
cross join entity e on e.e = p.e
left join version v on v.n = p.n and ?6
where p.until <= ?8 or p.until = p.size
