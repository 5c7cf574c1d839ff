-- The documents of entities, given as a JSON list of rows, in the order of the rows. The last one is
-- that which exceeds the limit of bytes.
select p.e, p.m, v.data
from (
  select *, sum(size) over (order by e rows unbounded preceding) - size as before
  from (
    select e.e, e.m, e.n, coalesce(octet_length(v.data), 0) as size
    from json_each(?1) j join entity e on e.e = j.value join version v on v.n = e.n
  ) picked
) p
join version v on v.n = p.n
where p.before <= ?2 order by p.e
