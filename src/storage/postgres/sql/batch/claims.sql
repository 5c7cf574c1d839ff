-- Reads what was freed, so that a value that one entity lets go can be claimed by another.
claims as (
  insert into unique_key(m, u, key, e)
  select unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bytea[]), unnest(?::bigint[])
  from head, (select count(*) from freed) f
)
