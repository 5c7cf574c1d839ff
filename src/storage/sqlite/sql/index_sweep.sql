-- Removes the keys of entities that are gone.
delete from search_key where p = ?1 and not exists(select 1 from entity where e = search_key.e and live)
