-- Begins to drop an index that nobody declared.
update search_path set state = 2 where p = $1 and state <> 2 and not declared
