select p.name, coalesce((select min(n) from topic_event where o = p.o), p.last + 1), p.last
from topic p
where p.t = $1 and p.ns = $2 and p.name > coalesce($3::text, '')
order by p.name
limit $4
