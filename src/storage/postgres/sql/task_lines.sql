-- The tenants that have tasks, each found by one step in the index.
with recursive line(t) as (
  (select min(t) from task)
  union all
  select (select min(task.t) from task where task.t > line.t) from line where line.t is not null
)
select t from line where t is not null
