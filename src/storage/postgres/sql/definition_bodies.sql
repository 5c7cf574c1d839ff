-- Definitions by key.
select d, body from definition where d = any($1)
