-- The versions of a tenant after a position and up to another, in the order of commits; of one
-- model and in some states where that is asked for.
select v.n, v.kind, v.state, case when ?6 then v.data end as data, e.id, c.id as tx, c.at, m.name, m.version
from version v
cross join model m on m.m = v.m
cross join "commit" c on c.seq = v.seq
cross join entity e on e.e = v.e
where v.n > ?1 and v.n <= ?2 and m.t = ?3 and (?4 is null or v.m = ?4)
  and (?5 is null or v.state in (select value from json_each(?5)))
order by v.n
limit ?7
