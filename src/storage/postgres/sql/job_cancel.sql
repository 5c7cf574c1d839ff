-- Ends a job that is running, unless the request was done before.
update search_job set state = 3, finished = $2, expires = $3
where j = $1 and state = 0
  and not exists (select 1 from idempotency i where i.t = search_job.t and i.key = $4 and i.expires > $2)
