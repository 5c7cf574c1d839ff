-- The newest sequence that was committed up to an instant.
select seq from "commit" where at <= $1 order by at desc limit 1
