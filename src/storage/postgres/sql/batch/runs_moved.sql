runs_moved as (
  update run
  set n = x.n, status = x.status, out = x.out, owner = x.owner, timer = x.timer, awaits = x.awaits, state = x.state,
    ended = coalesce(x.ended, run.ended)
  from head, unnest(
    ?::bigint[], ?::bigint[], ?::bigint[], ?::boolean[], ?::bigint[], ?::boolean[], ?::uuid[], ?::text[], ?::bigint[]
  ) x(r, n, status, out, owner, timer, awaits, state, ended)
  where run.r = x.r
)
