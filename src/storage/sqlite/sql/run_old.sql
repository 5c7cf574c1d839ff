-- Runs that ended between two times, oldest first: when, and the size of their states. Left out are
-- runs with a call in flight, because what the call does must be undone. Left out up to a third time
-- are runs whose row in the table of another database is not written (kind 15), and those whose end
-- the manager that started them has not read (kind 18).
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
