select delta from model_delta where m = $1 order by n
