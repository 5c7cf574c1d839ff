select e.id, e.n
from unnest($2::text[]) j(id)
join topic_event e on e.o = $1 and e.id = j.id and e.id is not null
