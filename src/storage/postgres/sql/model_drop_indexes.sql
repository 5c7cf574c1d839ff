-- Drops all indexes of a model.
update search_path set state = 2 where m = $1
