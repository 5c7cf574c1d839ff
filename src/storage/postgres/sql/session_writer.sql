-- There are few statements of batches, and their plans do not depend on values.
set plan_cache_mode = force_generic_plan
