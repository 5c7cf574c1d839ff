delete from run_key where r in (select value from json_each(?1))
