-- Ends every claim of entities, given as a JSON list of rows.
delete from unique_key where e in (select value from json_each(?1))
