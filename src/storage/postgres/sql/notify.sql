-- Has other processes look at what was committed.
select pg_notify('interlock', $1::text)
