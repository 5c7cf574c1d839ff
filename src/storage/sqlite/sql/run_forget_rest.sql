-- What is left of the histories of runs, given as a JSON list.
delete from run_event where r in (select value from json_each(?1))
