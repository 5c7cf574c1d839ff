delete from task_offer o where not exists (select from node n where n.i = o.i)
