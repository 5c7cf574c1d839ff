select j, seq, state, created, finished, expires, count, took
from search_job
where id = $1 and t = $2
