-- Which tables outside have runs that are to be written there (kind 15) is read at the start,
-- whoever's they are.
create index record_mirror on record(t, ns) where kind = 15;
