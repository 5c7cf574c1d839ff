delete from task where r in (values (?));
