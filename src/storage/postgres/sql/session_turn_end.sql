-- Ends a turn; whether this session had it.
reset idle_session_timeout;
select pg_advisory_unlock(7310593858020254331)
