select r, n, status, out, owner, timer, up, e, awaits, created, ended, state, run_name.ns, run_name.name
from run join run_name on run_name.q = run.q
where run.q = (select q from run_name where t = $1 and ns = $4 and name = $5) and run.r < $2
order by run.r desc limit $3
