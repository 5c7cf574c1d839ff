-- The events of a topic after a sequence, up to a number of them and of bytes. What goes beyond the
-- bytes is left out before it is read.
with picked as (
  select k, n, octet_length(data)::bigint as size
  from topic_event
  where o = $1 and n > $2
  order by n
  limit $3
), sized as (
  select k, n, sum(size) over (order by n rows unbounded preceding) - size as before
  from picked
)
select e.n, e.at, e.id, e.key, e.type, e.data
from sized s
join topic_event e on e.k = s.k
where s.before <= $4
order by s.n
