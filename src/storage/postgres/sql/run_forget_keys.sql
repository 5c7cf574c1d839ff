delete from run_key where r = any($1)
