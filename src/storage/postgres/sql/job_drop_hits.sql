-- Removes the first hits of a job; of a node only if it has the job.
delete from search_hit
where j = $1 and i < (select min(i) from search_hit where j = $1) + $2
  and ($3::bigint is null or exists (select 1 from search_job where j = $1 and owner = $3))
