-- How many bytes each tenant has in the states of runs that were there at a sequence.
select t.name, sum(octet_length(r.state))::bigint
from run r
join tenant t on t.t = r.t
where r.n <= $1
group by t.t
