with kept as (
  update node set beat = (extract(epoch from clock_timestamp()) * 1e6)::bigint
  where i = $1
  returning i)
select n.i, n.name, n.address, n.version,
  greatest((extract(epoch from clock_timestamp()) * 1e6)::bigint - n.beat, 0),
  exists (select from kept)
from node n order by n.i
