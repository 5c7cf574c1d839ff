versions as (
  insert into version(n, e, m, seq, kind, state, transition, author, executor, data, record)
  select x.* from head, unnest(
    ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::text[],
    ?::bigint[], ?::bigint[], ?::text[], ?::text[]
  ) x(n, e, m, seq, kind, state, transition, author, executor, data, record)
)
