-- There are few statements of batches, and their plans do not depend on values. Other processes wait
-- for what is written in a transaction: one that stands still does not keep them.
set plan_cache_mode = force_generic_plan;
set idle_in_transaction_session_timeout = '2s'
