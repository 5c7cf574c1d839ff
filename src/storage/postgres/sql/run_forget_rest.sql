-- What is left of the histories of runs.
delete from run_event where r = any($1)
