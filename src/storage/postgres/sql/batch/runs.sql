runs as (
  insert into run(r, t, q, n, status, out, owner, timer, up, e, awaits, created, ended, state)
  select x.* from head, unnest(
    ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::boolean[], ?::bigint[], ?::boolean[],
    ?::bigint[], ?::uuid[], ?::uuid[], ?::bigint[], ?::bigint[], ?::text[]
  ) x(r, t, q, n, status, out, owner, timer, up, e, awaits, created, ended, state)
)
