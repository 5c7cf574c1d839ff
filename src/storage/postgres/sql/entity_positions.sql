-- The current positions of entities.
select id, n from entity where id = any($1)
