select n, list from workflow_set where m = $1 order by n desc limit 1
