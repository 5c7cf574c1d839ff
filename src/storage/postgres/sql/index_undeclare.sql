-- Drops the declared indexes of a model, but for those by these paths.
update search_path set state = 2
where m = $1 and state <> 2 and declared and path <> all($2)
