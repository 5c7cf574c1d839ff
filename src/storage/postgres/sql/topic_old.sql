-- Of the oldest events, those before a time: the newest of them, and what they take by tenant.
with oldest as (
  select k, o, at, octet_length(data) + coalesce(octet_length(id), 0)
    + coalesce(octet_length(key), 0) + coalesce(octet_length(type), 0) as bytes
  from topic_event
  order by k
  limit $2
)
select t.name, max(e.k), sum(e.bytes)::bigint
from oldest e
join topic p on p.o = e.o
join tenant t on t.t = p.t
where e.at < $1
group by t.t
