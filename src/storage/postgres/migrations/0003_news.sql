-- What a batch has changed beside entities and runs: the names of records and topics, and whether
-- clients, keys or providers are among it. JSON, on the first commit of the batch.
alter table "commit" add column news text;

-- When the server was started that the commit was written on, in microseconds.
alter table "commit" add column server bigint;
