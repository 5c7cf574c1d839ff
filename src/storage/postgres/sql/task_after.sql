-- Tasks of a tenant that are due after an instant, the soonest first; see task_at.sql.
select due, k from task
where t = $1 and due > $2 and (kind <> 3 or k <= $3)
order by due, k limit $4
