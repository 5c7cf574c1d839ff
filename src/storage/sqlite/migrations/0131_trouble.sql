-- What is known of work that failed (kind 8) is read as a whole at the start, whoever's it is.
create index record_trouble on record(c) where kind = 8;
