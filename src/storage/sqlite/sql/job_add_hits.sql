-- More hits of a job that is running, from a number on, given as a JSON list of positions.
insert into search_hit(j, i, n)
select ?1, ?2 + h.key, h.value
from json_each(?3) h
where exists (select 1 from search_job where j = ?1 and state = 0)
