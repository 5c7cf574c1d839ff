delete from task where r in (select value from json_each(?1)) and r is not null
