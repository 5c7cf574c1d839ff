select task.k, task.t, tenant.name as tenant, entity.id, task.r, task.kind, task.name, task.due, task.body
from task
join tenant on tenant.t = task.t
join entity on entity.e = task.e
where task.e = $1
