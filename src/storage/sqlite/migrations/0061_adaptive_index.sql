-- When a search used an index last, in microseconds; written rarely. Only of those that nobody
-- declared.
alter table search_path add column used integer;
