delete from run_event where n = any($1)
