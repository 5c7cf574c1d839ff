delete from node where i = $1
