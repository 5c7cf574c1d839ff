-- Which versions those at positions, given as a JSON list, have replaced; in the order of the list.
select v.n, (select max(p.n) from version p where p.e = v.e and p.n < v.n)
from json_each(?1) j cross join version v on v.n = j.value
order by j.key
