insert into "commit"(seq, id, t, at, author, executor) values(?1, ?2, ?3, ?4, ?5, ?6)
