-- Tasks by their keys, with all other tasks of the same entities.
select task.k, task.t, tenant.name as tenant, entity.id, task.r, task.kind, task.name, task.due, task.body
from task
join tenant on tenant.t = task.t
join entity on entity.e = task.e
where task.e in (select e from task where k = any($1))
union all
select task.k, task.t, tenant.name as tenant, null, task.r, task.kind, task.name, task.due, task.body
from task
join tenant on tenant.t = task.t
where task.k = any($1) and task.e is null
