select tenant.name, run.r from run join tenant on tenant.t = run.t
where run.r > ?1 and run.ended is null and run.out
union all
select tenant.name, run.r from run indexed by run_out join tenant on tenant.t = run.t
where run.r > ?1 and run.ended is not null and run.out
order by run.r limit +?2
