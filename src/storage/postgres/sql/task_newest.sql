select coalesce(max(k), 0) from task
