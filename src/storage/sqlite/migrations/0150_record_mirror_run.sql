-- Whether a run is still to be written to a table outside (kind 15) is asked before it is removed.
create index record_mirror_run on record(t, name) where kind = 15;
