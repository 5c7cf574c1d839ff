-- Ends a job that is running at a node.
update search_job set state = $2, finished = $3, expires = $4, count = $5, took = $6
where j = $1 and state = 0 and owner = $7::bigint
