delete from run_event where n in (select value from json_each(?1))
