delete from run where r in (select value from json_each(?1)) and ended is not null
