select min(n) from topic_event where o = $1
