-- How many of these commits are there; given as a JSON list of sequences.
select count(*) from "commit" where seq in (select value from json_each(?1))
