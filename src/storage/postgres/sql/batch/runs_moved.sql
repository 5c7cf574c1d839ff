runs_moved as (
  update run
  set n = x.n, status = x.status, out = x.out, owner = x.owner, timer = x.timer, awaits = x.awaits, state = x.state,
    ended = coalesce(x.ended, run.ended)
  from head,
    (
      select unnest(?::bigint[]) as r, unnest(?::bigint[]) as n, unnest(?::bigint[]) as status,
        unnest(?::boolean[]) as out, unnest(?::bigint[]) as owner, unnest(?::boolean[]) as timer,
        unnest(?::uuid[]) as awaits, unnest(?::text[]) as state, unnest(?::bigint[]) as ended
    ) x
  where run.r = x.r
)
