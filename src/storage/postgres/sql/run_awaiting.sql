select run.awaits, run.t, tenant.name, run.r
from run join tenant on tenant.t = run.t
where run.awaits is not null
