-- Remembers how far an index has been filled.
update search_path set state = $2, filled_to = $3 where p = $1 and state = 0
