delete from run where r = any($1) and ended is not null
