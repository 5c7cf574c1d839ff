-- Removes some keys of an index.
delete from search_key
where p = $1 and (key, e) in (select key, e from search_key where p = $1 order by key, e limit $2)
