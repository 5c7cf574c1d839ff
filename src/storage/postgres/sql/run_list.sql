select r, n, status, out, owner, timer, up, e, awaits, created, ended, state, run_name.ns, run_name.name
from run join run_name on run_name.q = run.q
where run.t = $1 and run.r < $2
order by run.r desc limit $3
