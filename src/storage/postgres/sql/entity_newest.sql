select coalesce(max(e), 0) from entity
