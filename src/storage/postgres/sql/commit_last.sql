-- The newest sequence before another one.
select max(seq) from "commit" where seq < $1
