-- Earlier releases left the keys of runs that triggers started when they removed the runs.
delete from run_key where not exists (select 1 from run where run.r = run_key.r);

-- The keys of a run are removed with it.
create index run_key_run on run_key(r);
