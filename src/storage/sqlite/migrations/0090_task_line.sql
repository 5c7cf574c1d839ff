-- Tasks of a tenant in the order in which they are due: each tenant's are read by themselves, so
-- that nobody waits behind what is due for another one.
drop index task_due;
create index task_line on task(t, due);
