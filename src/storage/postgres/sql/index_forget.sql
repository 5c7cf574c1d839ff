-- Forgets an index that has no keys any more.
delete from search_path where p = $1
