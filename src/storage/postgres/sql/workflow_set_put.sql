insert into workflow_set(m, n, list) values($1, $2, $3)
