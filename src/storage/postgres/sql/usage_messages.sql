-- How many bytes each tenant has in messages that were there at a sequence.
select t.name, sum(octet_length(g.header) + octet_length(g.metadata) + octet_length(g.content))::bigint
from message g
join tenant t on t.t = g.t
where g.seq <= $1
group by t.t
