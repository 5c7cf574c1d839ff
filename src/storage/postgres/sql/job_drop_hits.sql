-- Removes the first hits of a job.
delete from search_hit
where j = $1 and i < (select min(i) from search_hit where j = $1) + $2
