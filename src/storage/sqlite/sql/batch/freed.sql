delete from unique_key where e in (values (?));
