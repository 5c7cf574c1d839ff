-- Ends a turn.
select pg_advisory_unlock(7310593858020254331);
reset idle_session_timeout
