delete from model_delta where m = $1
