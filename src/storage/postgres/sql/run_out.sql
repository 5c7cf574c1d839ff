select tenant.name, run.r from run join tenant on tenant.t = run.t
where run.r > $1 and run.out
order by run.r limit $2
