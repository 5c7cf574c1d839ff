-- All tables are read as of one instant, and nothing is committed meanwhile.
begin isolation level repeatable read;
lock table "commit" in share mode
