-- Drops the declared indexes of a model, but for those by the paths of a JSON list.
update search_path set state = 2
where m = ?1 and state <> 2 and declared and path not in (select value from json_each(?2))
