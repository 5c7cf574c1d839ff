delete from task where r = any($1) and r is not null
