-- Declares indexes of a model by paths, given as a JSON list.
insert into search_path(m, path, state, declared) select ?1, value, 0, 1 from json_each(?2) where true
on conflict(m, path) where state <> 2 do update set declared = 1
