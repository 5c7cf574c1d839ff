-- How many bytes each of these versions has, which is known without reading them.
select v.n, coalesce(octet_length(v.data), 0)
from version v
cross join model m on m.m = v.m
where v.n > ?1 and v.n <= ?2 and m.t = ?3 and (?4 is null or v.m = ?4)
  and (?5 is null or v.state in (select value from json_each(?5)))
order by v.n
limit ?6
