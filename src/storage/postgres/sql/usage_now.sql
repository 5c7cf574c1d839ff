-- How many bytes each tenant has in messages, records, topics and the states of runs, and the newest
-- commit that there was then. It is one statement, so all of that is as of one moment.
select newest.seq, t.name, stored.bytes
from (select coalesce(max(seq), 0) as seq from "commit") newest
left join (
  select part.t, sum(part.bytes)::bigint as bytes
  from (
    select g.t, octet_length(g.header) + octet_length(g.metadata) + octet_length(g.content) as bytes
    from message g
    union all
    select r.t, octet_length(r.body)
    from record r
    union all
    select r.t, octet_length(r.state)
    from run r
    union all
    select p.t, octet_length(e.data) + coalesce(octet_length(e.id), 0)
      + coalesce(octet_length(e.key), 0) + coalesce(octet_length(e.type), 0)
    from topic_event e
    join topic p on p.o = e.o
  ) part
  group by part.t
) stored on true
left join tenant t on t.t = stored.t
