insert into model_delta(m, n, delta) values($1, $2, $3)
