select coalesce(max(o), 0) from topic
