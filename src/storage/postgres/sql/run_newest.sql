select coalesce(max(r), 0) from run
