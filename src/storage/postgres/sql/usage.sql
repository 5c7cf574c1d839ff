-- How many bytes each tenant has in the versions, decisions and events of runs after a position and
-- up to another; how many a text has is known without reading it.
select t.name, sum(written.bytes)::bigint
from (
  select m.t as t, coalesce(octet_length(v.data), 0) + coalesce(octet_length(v.record), 0) as bytes
  from version v
  join model m on m.m = v.m
  where v.n > $1 and v.n <= $2
  union all
  select m.t, octet_length(d.record)
  from decision d
  join entity e on e.e = d.e
  join model m on m.m = e.m
  where d.n > $1 and d.n <= $2
  union all
  select r.t, octet_length(h.record)
  from run_event h
  join run r on r.r = h.r
  where h.n > $1 and h.n <= $2
) written
join tenant t on t.t = written.t
group by t.t
