-- How many runs of each tenant have not ended, by status.
select tenant.name, live.status, live.runs
from (
  select t, status, count(*) as runs from run where ended is null group by t, status
) live
join tenant on tenant.t = live.t
