-- Earlier releases left entities out of an index that were changed while it was filled, so every
-- index is filled once more; what is there stays.
update search_path set state = 0, filled_to = null where state = 1;
