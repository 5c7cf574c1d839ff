-- The current versions on one page of the entities of a model, by position.
select n from entity where m = ?1 and live order by id limit ?2 offset ?3
