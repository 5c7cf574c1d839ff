-- Takes a turn: while one waits for it or has it, who writes without a turn is refused (`head.sql`).
-- Those who wait have it in their order.
begin;
set local lock_timeout = '1s';
set local idle_in_transaction_session_timeout = '2s';
select pg_advisory_xact_lock(7310593858020254331)
