-- The next jobs that are to be run.
select j, t from search_job where state = 0 and j > $1 order by j limit $2
