delete from task where k in (values (?));
