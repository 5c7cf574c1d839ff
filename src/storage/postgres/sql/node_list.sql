select n.i, n.name, n.address, n.version,
  greatest((extract(epoch from clock_timestamp()) * 1e6)::bigint - n.beat, 0)
from node n order by n.i
