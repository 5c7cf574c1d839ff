-- How many of these commits are there, by the ids of their transactions.
select count(*) from "commit" where id = any($1)
