-- Which versions those at positions have replaced; in the order of the list.
select v.n, (select max(p.n) from version p where p.e = v.e and p.n < v.n)
from unnest($1::bigint[]) with ordinality j(n, i) join version v on v.n = j.n
order by j.i
