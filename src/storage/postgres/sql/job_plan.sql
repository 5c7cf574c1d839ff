-- What a job that is to be run looks for, and whether it has found something before.
select s.j, s.t, s.m, s.seq, s.query, s.schema, m.name, m.version,
  exists (select 1 from search_hit h where h.j = s.j) as begun
from search_job s
join model m on m.m = s.m
where s.j = $1 and s.state = 0
