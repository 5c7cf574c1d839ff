-- Tasks that are done, and what new ones replace: those of the same entity, kind and name, and
-- those of the same run.
tasks_done as (
  delete from task using head
  where task.k = any(?::bigint[])
  returning 1
),
tasks_replaced as (
  delete from task using head, unnest(?::bigint[], ?::bigint[], ?::text[]) x(e, kind, name)
  where task.e = x.e and task.kind = x.kind and task.name = x.name and task.k <> all(?::bigint[])
  returning 1
),
timers_replaced as (
  delete from task using head
  where task.r = any(?::bigint[])
  returning 1
)
