run_events as (
  insert into run_event(n, r, last, record)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]) from head
)
