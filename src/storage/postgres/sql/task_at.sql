-- Tasks of a tenant that are due at an instant, from a key on. Continuations that came after
-- another key are left out: those who wrote them still work on them.
select due, k from task
where t = $1 and due = $2 and k > $3 and (kind <> 3 or k <= $4)
order by k limit $5
