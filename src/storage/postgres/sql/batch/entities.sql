entities as (
  insert into entity(e, id, m, n, state, live, created, workflow)
  select x.e, x.id, x.m, x.n, x.state, true, x.created, x.workflow
  from head, unnest(?::bigint[], ?::uuid[], ?::bigint[], ?::bigint[], ?::text[], ?::bigint[], ?::text[])
    x(e, id, m, n, state, created, workflow)
)
