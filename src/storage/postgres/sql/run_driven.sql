-- Runs of which work is out and that a node drives; see run_orphaned.sql.
select tenant.name, run.r from run join tenant on tenant.t = run.t
where run.out and (run.owner, run.r) > ($3, $1) and run.owner <= $3
order by run.owner, run.r limit $2
