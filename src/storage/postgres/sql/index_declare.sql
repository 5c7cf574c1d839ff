-- Declares indexes of a model by paths.
insert into search_path(m, path, state, declared) select $1, x.path, 0, true from unnest($2::text[]) x(path)
on conflict(m, path) where state <> 2 do update set declared = true
