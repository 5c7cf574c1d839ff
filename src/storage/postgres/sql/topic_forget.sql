delete from topic_event where k <= $1 and at < $2
