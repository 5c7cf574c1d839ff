-- More hits of a job that is running at a node, from a number on.
insert into search_hit(j, i, n)
select $1, $2 + h.i - 1, h.n
from unnest($3::bigint[]) with ordinality h(n, i)
where exists (select 1 from search_job where j = $1 and state = 0 and owner = $4::bigint)
