-- Takes a turn: who holds the row is the next to write, unless someone writes without a turn.
begin;
set local lock_timeout = '1s';
set local idle_in_transaction_session_timeout = '2s';
select from turn for update
