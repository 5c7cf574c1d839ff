-- The next position after another one at which there is a version, a decision or an event of a run.
select min(n) from (
  select min(n) as n from version where n > ?1
  union all
  select min(n) from decision where n > ?1
  union all
  select min(n) from run_event where n > ?1
) found
