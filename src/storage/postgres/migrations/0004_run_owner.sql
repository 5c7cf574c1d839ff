-- The runs of which work is out, by the node that drives them: those of a node that is gone are taken
-- over. Null, and so in an index that is mostly empty: written by a release that does not say so, or
-- copied from another database.
create index run_owner on run(owner, r) where out and owner is not null;
create index run_unowned on run(r) where out and owner is null;

drop index run_live_out;
drop index run_out;
