-- Ended runs in the order in which they ended, which is the order in which they are removed.
create index run_ended on run(ended) where ended is not null;
