-- Remembers when an index was used; never an earlier time.
update search_path set used = $2 where p = $1 and (used is null or used < $2)
