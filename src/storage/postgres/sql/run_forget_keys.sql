-- The keys of runs. A key has no index by run: the state says which it is.
delete from run_key
where (t, kind, scope, key) in (
  select run.t, 0, run_name.ns || chr(10) || run_name.name, run.state::json ->> 'key'
  from unnest($1::bigint[]) given(r)
  join run on run.r = given.r
  join run_name on run_name.q = run.q
  where run.state::json ->> 'key' is not null
  union all
  select run.t, 1, '', run.state::json #>> '{run,id}'
  from unnest($1::bigint[]) given(r)
  join run on run.r = given.r
  where run.state::json #>> '{run,id}' is not null
)
and r = any($1)
