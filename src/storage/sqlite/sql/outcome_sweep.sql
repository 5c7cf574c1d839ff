-- Deletes some of what is past its time.
delete from idempotency where rowid in (select rowid from idempotency where expires <= ?1 limit +?2)
