-- The deletions of entities: versions without documents.
removed_versions as (
  insert into version(n, e, m, seq, kind, state, author, executor)
  select x.n, x.e, entity.m, x.seq, 2, entity.state, x.author, x.executor
  from head, unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[])
    x(n, e, seq, author, executor)
  join entity on entity.e = x.e
)
