runs_moved as (
  update run
  set n = x.n, status = x.status, out = x.out, timer = x.timer, awaits = x.awaits, state = x.state,
    ended = coalesce(x.ended, run.ended)
  from head, unnest(
    ?::bigint[], ?::bigint[], ?::bigint[], ?::boolean[], ?::boolean[], ?::uuid[], ?::text[], ?::bigint[]
  ) x(r, n, status, out, timer, awaits, state, ended)
  where run.r = x.r
)
