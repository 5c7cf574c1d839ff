-- The current positions of entities, given as a JSON list of ids in hexadecimal.
select id, n from entity where id in (select unhex(value) from json_each(?1))
