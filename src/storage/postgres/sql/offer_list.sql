-- What is offered at other nodes that are live.
select o.i, t.name, o.offers
from task_offer o
join tenant t on t.t = o.t
join node n on n.i = o.i
where o.i <> $1 and n.beat > (extract(epoch from clock_timestamp()) * 1e6)::bigint - $2
order by o.i, o.t
