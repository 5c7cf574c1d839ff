decisions as (
  insert into decision(n, e, record)
  select x.* from head, unnest(?::bigint[], ?::bigint[], ?::text[]) x(n, e, record)
)
