-- How the connection of a copy is set up. Tables are read in the order of their keys, from the
-- first row on.
set application_name = 'interlock copy';
set statement_timeout = 0;
set lock_timeout = '5s';
set idle_in_transaction_session_timeout = 0;
set client_min_messages = warning;
set extra_float_digits = 2;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_sort = off;
set synchronous_commit = off
