-- Takes a turn: while one waits for it or has it, who writes without a turn is refused (`head.sql`).
-- Those who wait have it in their order. A process that stands still loses it with its connection.
set local lock_timeout = '1s';
set idle_session_timeout = '2s';
select pg_advisory_lock(7310593858020254331)
