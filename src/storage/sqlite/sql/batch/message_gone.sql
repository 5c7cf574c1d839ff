delete from message where (id, t) = (?, ?);
