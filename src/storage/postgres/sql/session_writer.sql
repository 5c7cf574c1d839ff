-- There are few statements of batches, and their plans do not depend on values. Other processes wait
-- for what is written in a transaction: one that stands still does not keep them. What takes long is
-- not ended by defaults of the role or the database: then the outcome has to be settled first, and all
-- writes are refused meanwhile.
set plan_cache_mode = force_generic_plan;
set idle_in_transaction_session_timeout = '2s';
select set_config(name, '0', false) from pg_settings
where name in ('lock_timeout', 'statement_timeout', 'transaction_timeout')
