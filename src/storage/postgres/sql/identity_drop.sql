delete from identity where kind = $1 and name = $2 and t = $3
