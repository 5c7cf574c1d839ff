select n.i, n.name, n.address, n.version,
  greatest((extract(epoch from clock_timestamp()) * 1e6)::bigint - n.beat, 0),
  (select count(*) from member m where m.i = n.i)
from node n order by n.i
