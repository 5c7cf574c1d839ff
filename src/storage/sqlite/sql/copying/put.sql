insert into copying(source, part, place, written) values(?1, ?2, ?3, ?4)
