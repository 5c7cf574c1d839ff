decisions as (
  insert into decision(n, e, record)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]) from head
)
