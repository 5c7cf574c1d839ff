select t from tenant where name = $1
