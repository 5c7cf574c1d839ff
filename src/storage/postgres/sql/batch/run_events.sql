run_events as (
  insert into run_event(n, r, last, record)
  select x.* from head, unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::text[]) x(n, r, last, record)
)
