-- The leases of tasks that workers have pulled (kind 9) are read as a whole at the start, whoever's
-- they are.
create index record_lease on record(c) where kind = 9;
