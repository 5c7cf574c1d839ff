-- Some of the events of runs, and what they take.
select e.n, e.r, octet_length(e.record)::bigint
from unnest($1::bigint[]) given(r)
join run_event e on e.r = given.r
limit $2
