-- When tasks are due from an instant on, the soonest first.
select due, k from task where due >= ?1 order by due limit +?2
