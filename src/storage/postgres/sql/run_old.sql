-- Of the runs that ended before a time, those that ended first, and what their states take.
select tenant.name, run.r, octet_length(run.state)::bigint
from run
join tenant on tenant.t = run.t
where run.ended is not null and run.ended < $1
order by run.ended
limit $2
