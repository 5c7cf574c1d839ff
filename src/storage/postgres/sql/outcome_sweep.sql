-- Deletes some of what is past its time.
delete from idempotency where (t, key, part) in (
  select t, key, part from idempotency where expires <= $1 order by expires limit $2
)
