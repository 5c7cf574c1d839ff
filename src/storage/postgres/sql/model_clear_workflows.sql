delete from workflow_set where m = $1
