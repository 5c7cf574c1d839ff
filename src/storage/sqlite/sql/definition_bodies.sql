-- Definitions by key, given as a JSON list of numbers.
select d, body from definition where d in (select value from json_each(?1))
