-- Begins to drop an index.
update search_path set state = 2 where p = ?1
