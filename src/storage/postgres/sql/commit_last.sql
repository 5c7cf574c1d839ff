-- The newest sequence up to another one, which is that one itself if it is there.
select max(seq) from "commit" where seq <= $1
