-- Some of the events of runs, given as a JSON list, and what they take.
select e.n, e.r, octet_length(e.record)
from json_each(?1) given
cross join run_event e on e.r = given.value
limit +?2
