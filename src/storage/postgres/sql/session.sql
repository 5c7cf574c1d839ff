-- How every connection is set up. A document may be all there is in a table at first, so plans are
-- made for tables as they will be: every statement here has an index to begin with.
set session characteristics as transaction isolation level read committed, read write;
set jit = off;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set client_min_messages = warning;
set extra_float_digits = 2;
set idle_in_transaction_session_timeout = '10s'
