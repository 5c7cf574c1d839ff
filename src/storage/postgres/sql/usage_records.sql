-- How many bytes each tenant has in records that were written up to a sequence.
select t.name, sum(octet_length(r.body))::bigint
from record r
join tenant t on t.t = r.t
where r.n <= $1
group by t.t
