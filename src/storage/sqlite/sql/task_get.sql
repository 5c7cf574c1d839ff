-- Tasks by their keys, given as a JSON list, with all other tasks of the same entities.
select task.k, task.t, tenant.name as tenant, entity.id, task.r, task.kind, task.name, task.due, task.body
from task
join tenant on tenant.t = task.t
join entity on entity.e = task.e
where task.e in (select e from task where k in (select value from json_each(?1)))
union all
select task.k, task.t, tenant.name as tenant, null, task.r, task.kind, task.name, task.due, task.body
from task
join tenant on tenant.t = task.t
where task.k in (select value from json_each(?1)) and task.e is null
