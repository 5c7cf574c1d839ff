-- Sagas that have ended while a call of theirs is out: it is repeated after a crash, and undone if
-- it succeeds.
create index run_out on run(r) where ended is not null and out;
