select e.id, e.n
from json_each(?2) j
cross join topic_event e on e.o = ?1 and e.id = j.value and e.id is not null
