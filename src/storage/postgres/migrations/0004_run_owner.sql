-- The runs of which work is out, by the node that drives them: those of a node that is gone are taken
-- over. Null: written by a release that does not say so, or copied from another database.
create index run_owner on run(owner, r) where out;

drop index run_live_out;
drop index run_out;
