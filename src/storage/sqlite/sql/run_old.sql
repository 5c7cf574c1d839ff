-- Of the runs that ended between two times, those that ended first, when, and what their states
-- take. One of which a call is still out is not among them: what the call does is to be undone. Nor
-- is one, up to a third time, that is to be written to a table outside (kind 15), or whose end an
-- item of a manager is yet to take over (kind 18).
select tenant.name, run.r, run.ended, octet_length(run.state)
from run indexed by run_ended
cross join tenant on tenant.t = run.t
where run.ended is not null and run.ended >= ?1 and run.ended < ?2 and not run.out
and (
  run.ended < ?3
  or not exists (
    select 1 from record indexed by record_mirror_run
    where record.t = run.t and record.name = cast(run.r as text) and record.kind = 15
  )
  and not exists (
    select 1 from record
    where record.t = run.t and record.kind = 18 and record.ns = ''
    and record.name = cast(run.r as text)
  )
)
order by run.ended
limit +?4
