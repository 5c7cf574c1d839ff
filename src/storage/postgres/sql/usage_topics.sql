-- How many bytes each tenant has in the events of topics that were there at an instant.
select t.name, sum(octet_length(e.data) + coalesce(octet_length(e.id), 0)
  + coalesce(octet_length(e.key), 0) + coalesce(octet_length(e.type), 0))::bigint
from topic_event e
join topic p on p.o = e.o
join tenant t on t.t = p.t
where e.at <= (select at from "commit" where seq <= $1 order by seq desc limit 1)
group by t.t
