-- Removes some keys of an index.
delete from search_key
where (p, key, e) in (select p, key, e from search_key where p = ?1 limit ?2)
