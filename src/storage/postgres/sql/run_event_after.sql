-- The events of a tenant after a position.
select run_event.n, run_event.r, run_event.last, run_event.record
from run_event join run on run.r = run_event.r
where run_event.n > $1 and run_event.n <= $2 and run.t = $3
order by run_event.n limit $4
