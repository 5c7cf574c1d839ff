-- The keys of runs, given as a JSON list. A key has no index by run: the state says which it is.
delete from run_key
where (t, kind, scope, key) in (
  select run.t, 0, run_name.ns || char(10) || run_name.name, run.state ->> '$.key'
  from json_each(?1) given
  cross join run on run.r = given.value
  cross join run_name on run_name.q = run.q
  where json_valid(run.state) and run.state ->> '$.key' is not null
  union all
  select run.t, 1, '', run.state ->> '$.run.id'
  from json_each(?1) given
  cross join run on run.r = given.value
  where json_valid(run.state) and run.state ->> '$.run.id' is not null
)
and r in (select value from json_each(?1))
